// Ant System in double precision, one ant after the other: the program that hpcsolve is compared with. Not part of
// hpcsolve.
//
// It follows the textbook (Dorigo and Stuetzle, Ant Colony Optimization, 2004, chapter 3): as many ants as cities, each
// from a random city. The next city is drawn with probability proportional to pheromone * heuristic^beta among the
// unvisited ones. Then the share rho of all pheromone evaporates, and each ant deposits 1 / (its tour's length) on its
// edges. As in Stuetzle's ACOTSP the heuristic is 1 / (cost + 0.1), all pheromone starts at 1 / (rho * length of the
// nearest neighbour tour), and the products of pheromone and heuristic are tabulated once an iteration (here without
// pow, since alpha is 1). Lengths are relative to the nearest neighbour tour, so the pheromone of an edge that no ant
// uses can be halved 1000 times before it is 0. Symmetric costs only.
//
// The rules by which the next city is drawn differ in time, not in distribution:
//   candidates  all other cities in order of distance, as in ACOTSP when its candidate list is as long as possible;
//   textbook    all cities in order of their number (figure 3.4 there): no list is read, weights are contiguous;
//   head_tail   once an iteration the weights of each city's row are summed up, from the farthest city to the nearest,
//               so that a draw is a search in the sums. A visited city is rejected and drawn anew, which does not
//               change the distribution. After three rejections the weights of the 32 nearest cities (the head) are
//               summed up without the visited ones, so that only cities of the tail can be rejected; after three more,
//               or when few cities are left, the weights of the unvisited cities are summed up. The runs of a thousand
//               iterations that quality is compared with use this rule.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

namespace {
enum Rule { candidates, textbook, head_tail };
constexpr int HEAD = 32, DRAWS = 3;

struct Random {  // splitmix64 (Steele, Lea and Flood, 2014)
  uint64_t state;
  uint64_t bits() {
    uint64_t x = state += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
  }
  double below(double limit) { return (bits() >> 11) * 0x1p-53 * limit; }
};

struct Colony {
  int n, head;
  double kept;  // share of the pheromone that stays, 1 - rho
  std::vector<int> cost, nearest;  // n * n; n * (n - 1): the other cities in order of distance
  std::vector<double> heuristic, pheromone, choice;  // n * n, 0 on the diagonal; choice: pheromone * heuristic
  std::vector<double> head_weight, from_far;  // n * head; n * n: sums from the k-th nearest city to the farthest
  std::vector<double> weight;  // scratch: the weights of one draw
  std::vector<char> visited;
  std::vector<double> open;  // 0 for a visited city, 1 for others
  std::vector<int> unvisited, place;  // the unvisited cities in any order, and the position of each; used by head_tail
  std::vector<int> tours;  // n * n
  double unit = 0;  // length of the nearest neighbour tour
  Random random;
  int best = INT32_MAX;
  std::vector<int> best_tour;

  Colony(int cities, const int *costs, double beta, double rho, uint64_t seed)
      : n(cities),
        head(std::min(HEAD, n - 1)),
        kept(1 - rho),
        cost(costs, costs + (size_t)n * n),
        nearest((size_t)n * (n - 1)),
        heuristic((size_t)n * n),
        pheromone((size_t)n * n, 1 / rho),
        choice((size_t)n * n),
        head_weight((size_t)n * head),
        from_far((size_t)n * n),
        weight(n),
        visited(n),
        open(n),
        unvisited(n),
        place(n),
        tours((size_t)n * n),
        random{seed},
        best_tour(n) {
    for (int c = 0; c < n; c++) sort_nearest(c);
    unit = nearest_neighbour_length();
    for (int c = 0; c < n; c++)
      for (int j = 0; j < n; j++)
        heuristic[(size_t)c * n + j] = c == j ? 0 : __builtin_pow(unit / n / (costs[(size_t)c * n + j] + 0.1), beta);
  }

  void sort_nearest(int c) {
    int *row = nearest.data() + (size_t)c * (n - 1);
    std::iota(row, row + c, 0);
    std::iota(row + c, row + n - 1, c + 1);
    const int *from = cost.data() + (size_t)c * n;
    std::stable_sort(row, row + n - 1, [from](int a, int b) { return from[a] < from[b]; });
  }

  int nearest_unvisited(int c) const {
    const int *row = nearest.data() + (size_t)c * (n - 1);
    while (visited[*row]) row++;
    return *row;
  }

  double nearest_neighbour_length() {
    std::fill(visited.begin(), visited.end(), 0);
    int *tour = tours.data();
    visited[tour[0] = 0] = 1;
    for (int step = 1; step < n; step++) visited[tour[step] = nearest_unvisited(tour[step - 1])] = 1;
    return length(tour);
  }

  int length(const int *tour) const {
    int sum = cost[(size_t)tour[n - 1] * n + tour[0]];
    for (int step = 1; step < n; step++) sum += cost[(size_t)tour[step - 1] * n + tour[step]];
    return sum;
  }

  void tabulate(Rule rule) {
    for (size_t i = 0; i < choice.size(); i++) choice[i] = pheromone[i] * heuristic[i];
    if (rule != head_tail) return;
    for (int c = 0; c < n; c++) {
      const int *row = nearest.data() + (size_t)c * (n - 1);
      const double *from = choice.data() + (size_t)c * n;
      for (int k = 0; k < head; k++) head_weight[(size_t)c * head + k] = from[row[k]];
      double *sums = from_far.data() + (size_t)c * n;
      sums[n - 1] = 0;
      for (int k = n - 2; k >= 0; k--) sums[k] = sums[k + 1] + from[row[k]];
    }
  }

  // The index of the first of `count` weights at which their running sum exceeds `aim`.
  int find(double aim, int count) const {
    int i = 0;
    for (double sum = weight[0]; sum <= aim && i < count - 1; sum += weight[i]) i++;
    while (i > 0 && weight[i] == 0) i--;  // rounding may have led past the end
    return i;
  }

  // The index of a weight, drawn with probability weight / `total`, their sum; -1 if all weights are 0.
  int roulette(int count, double total) { return total > 0 ? find(random.below(total), count) : -1; }

  int draw_from_candidates(int c) {
    const int *row = nearest.data() + (size_t)c * (n - 1);
    const double *from = choice.data() + (size_t)c * n;
    double total = 0;
    for (int i = 0; i < n - 1; i++) {
      if (visited[row[i]]) {
        weight[i] = 0;
      } else {
        weight[i] = from[row[i]];
        total += weight[i];
      }
    }
    const int i = roulette(n - 1, total);
    return i < 0 ? nearest_unvisited(c) : row[i];
  }

  int draw_as_in_textbook(int c) {
    const double *from = choice.data() + (size_t)c * n;
    double total = 0;
    for (int j = 0; j < n; j++) {
      weight[j] = visited[j] ? 0 : from[j];
      total += weight[j];
    }
    const int j = roulette(n, total);
    return j < 0 ? nearest_unvisited(c) : j;
  }

  int draw_among_unvisited(int c, int left) {
    const double *from = choice.data() + (size_t)c * n;
    double total = 0;
    for (int i = 0; i < left; i++) total += weight[i] = from[unvisited[i]];
    const int i = roulette(left, total);
    return i < 0 ? nearest_unvisited(c) : unvisited[i];
  }

  // Puts the weights of the head's cities into `weight`, 0 for visited ones, and returns their sum. It has no branches,
  // half of which would be mispredicted, and four sums, so that no addition waits for the one before.
  double weigh_head(const int *row, const double *from) {
    double sums[4] = {0, 0, 0, 0};
    for (int k = 0; k < head; k++) weight[k] = from[k] * open[row[k]];
    for (int k = 0; k < head; k++) sums[k % 4] += weight[k];
    return sums[0] + sums[1] + (sums[2] + sums[3]);
  }

  // The position, in order of distance, of the city at which the sums from the farthest city exceed `aim`.
  int find_from_far(const double *sums, double aim) const {
    for (int k = 0; k < head; k++)
      if (sums[k + 1] <= aim) return k;
    return std::partition_point(sums + head + 1, sums + n, [aim](double sum) { return sum > aim; }) - sums - 1;
  }

  int draw_head_tail(int c, int left) {
    if (left * 16 < n) return draw_among_unvisited(c, left);
    const int *row = nearest.data() + (size_t)c * (n - 1);
    const double *sums = from_far.data() + (size_t)c * n;
    for (int draw = 0; draw < DRAWS; draw++) {
      const int j = row[find_from_far(sums, random.below(sums[0]))];
      if (!visited[j]) return j;
    }
    const double near = weigh_head(row, head_weight.data() + (size_t)c * head), far = sums[head];
    for (int draw = 0; draw < DRAWS; draw++) {
      const double aim = random.below(near + far);
      if (aim < near) return row[find(aim, head)];
      const int j = row[find_from_far(sums, aim - near)];
      if (!visited[j]) return j;
    }
    return draw_among_unvisited(c, left);
  }

  int draw(Rule rule, int c, int left) {
    return rule == candidates ? draw_from_candidates(c)
           : rule == textbook ? draw_as_in_textbook(c)
                              : draw_head_tail(c, left);
  }

  // Marks c as visited; the last of the `left` unvisited cities takes its position.
  void visit(int c, int left) {
    visited[c] = 1;
    open[c] = 0;
    const int last = unvisited[left - 1];
    unvisited[place[last] = place[c]] = last;
  }

  void construct(Rule rule, int *tour) {
    std::fill(visited.begin(), visited.end(), 0);
    std::fill(open.begin(), open.end(), 1);
    std::iota(unvisited.begin(), unvisited.end(), 0);
    std::iota(place.begin(), place.end(), 0);
    visit(tour[0] = random.bits() % n, n);
    for (int step = 1; step < n; step++) visit(tour[step] = draw(rule, tour[step - 1], n - step), n - step);
  }

  void deposit(const int *tour, double amount) {
    for (int step = 0, before = tour[n - 1]; step < n; before = tour[step++]) {
      pheromone[(size_t)before * n + tour[step]] += amount;
      pheromone[(size_t)tour[step] * n + before] += amount;
    }
  }

  // Runs one iteration and returns the mean length of its tours.
  double iterate(Rule rule) {
    tabulate(rule);
    for (int ant = 0; ant < n; ant++) construct(rule, tours.data() + (size_t)ant * n);
    for (double &amount : pheromone) amount *= kept;
    double sum = 0;
    for (int ant = 0; ant < n; ant++) {
      const int *tour = tours.data() + (size_t)ant * n, found = length(tour);
      deposit(tour, unit / found);
      sum += found;
      if (found >= best) continue;
      best = found;
      std::copy(tour, tour + n, best_tour.begin());
    }
    return sum / n;
  }
};
}  // namespace

extern "C" {
Colony *ant_system_open(int n, const int *cost, double beta, double rho, uint64_t seed) {
  return new Colony(n, cost, beta, rho, seed);
}
void ant_system_close(Colony *colony) { delete colony; }

// best[i]: length of the shortest tour up to iteration i. mean[i]: mean length of the tours of iteration i.
void ant_system_iterate(Colony *colony, int rule, int iterations, int *best, double *mean) {
  for (int i = 0; i < iterations; i++) {
    mean[i] = colony->iterate((Rule)rule);
    best[i] = colony->best;
  }
}
void ant_system_best_tour(const Colony *colony, int *tour) {
  std::copy(colony->best_tour.begin(), colony->best_tour.end(), tour);
}

// For a test of the distribution: draws the city after `c` `count` times, each time with `visited` as given. drawn[j]:
// how often j was drawn. weight[j]: the weight to which its probability should be proportional.
void ant_system_draw(Colony *colony, int rule, int c, const char *visited, int count, int *drawn, double *weight) {
  int left = 0;
  colony->tabulate((Rule)rule);
  for (int j = 0; j < colony->n; j++) {
    colony->open[j] = !(colony->visited[j] = visited[j]);
    if (!visited[j]) colony->unvisited[left++] = j;
    weight[j] = visited[j] ? 0 : colony->choice[(size_t)c * colony->n + j];
  }
  for (int i = 0; i < count; i++) drawn[colony->draw((Rule)rule, c, left)]++;
}
}
