// Steiner trees by OGDF (the Open Graph Drawing Framework, from the wheel ogdf-wheel), called and timed by rivals.py.
#include <cstdint>

#include <ogdf/graphalg/MinSteinerTreeKou.h>
#include <ogdf/graphalg/MinSteinerTreeMehlhorn.h>
#include <ogdf/graphalg/MinSteinerTreeTakahashi.h>
#include <ogdf/graphalg/steiner_tree/EdgeWeightedGraph.h>

using namespace ogdf;
using Weight = int64_t;

struct Problem {
    EdgeWeightedGraph<Weight> graph;
    List<node> terminals;
    NodeArray<bool> is_terminal;
};

// Returns a graph of n vertices, m edges and k terminals in OGDF's own form, which is never freed.
extern "C" Problem *ogdf_read(int n, int m, const int *tails, const int *heads, const Weight *weights, int k,
                              const int *terminals)
{
    auto *problem = new Problem;
    Array<node> vertices(n);
    for (node &v : vertices)
        v = problem->graph.newNode();
    for (int e = 0; e < m; e++)
        problem->graph.newEdge(vertices[tails[e]], vertices[heads[e]], weights[e]);
    problem->is_terminal.init(problem->graph, false);
    for (int i = 0; i < k; i++) {
        problem->terminals.pushBack(vertices[terminals[i]]);
        problem->is_terminal[vertices[terminals[i]]] = true;
    }
    return problem;
}

// Finds a tree and sets `chosen` (m entries, all 0 before) to 1 for its edges. method: 0 Kou, 1 Mehlhorn, 2 Takahashi.
extern "C" void ogdf_solve(Problem *problem, int method, unsigned char *chosen)
{
    MinSteinerTreeKou<Weight> kou;
    MinSteinerTreeMehlhorn<Weight> mehlhorn;
    MinSteinerTreeTakahashi<Weight> takahashi;
    MinSteinerTreeModule<Weight> *modules[] = {&kou, &mehlhorn, &takahashi};
    EdgeWeightedGraphCopy<Weight> *tree = nullptr;
    modules[method]->call(problem->graph, problem->terminals, problem->is_terminal, tree);
    for (edge e : tree->edges)
        chosen[tree->original(e)->index()] = 1;
    delete tree;
}
