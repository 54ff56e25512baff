"""The jobs of the tests on the emulated cluster."""

ANTS = """
algorithm = "ant-colony"
instance = { generate = "clustered-tsp", n = 300, seed = 7, clusters = 9 }
device = "cpu"
threads = 1
[ant-colony]
colonies = 4
[stop]
iterations = 300
"""
CITIES = """
algorithm = "held-karp"
instance = { generate = "random-matrix", n = [12, 14], seed = "1..2" }
device = "cpu"
threads = 1
"""
