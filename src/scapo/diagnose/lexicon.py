"""Word lists of the lexical token classes. The compilation is ours; which words have these uses is a fact.

Reflection: words with which a solver turns back on what was just said (the paper's list). Connectives:
English discourse connectives of one part and one word; those that are also reflection words count there.
"""

_REFLECTION = """
again ah alternative alternatively another any but check hmm however maybe now oh other verify wait
"""

_CONNECTIVES = """
after afterward afterwards before earlier finally later meantime meanwhile next once previously
simultaneously since still subsequently then thereafter till until upon when whenever while whilst

accordingly as because consequently for given hence if lest provided so supposing thereby therefore thus
unless whereby wherever

albeit although conversely despite else except instead nevertheless nonetheless notwithstanding otherwise
rather regardless though whereas without yet

additionally also and besides further furthermore indeed like likewise moreover namely nor or overall plus
separately similarly specifically too ultimately
"""
# Four groups: time; cause, condition and purpose; contrast and concession; addition, likeness and detail.

REFLECTION = frozenset(_REFLECTION.split())
CONNECTIVES = frozenset(_CONNECTIVES.split())
