"""The words of the embedded world: people, objects, what happens to the objects, and where it happens.

Event phrases are clauses without a full stop. Placeholders: {who} (subject), {whom} (object pronoun), {b}
(the step's number), {objs} (the objects, plural). Scenes are incidental: nothing in their meaning asks for an
operation.
"""

OPERATIONS = ("add", "subtract", "multiply", "divide")
SYMBOLS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}

WOMEN = (
    "Anna", "Clara", "Emma", "Grace", "Julia", "Lena", "Maria", "Nora", "Rosa", "Sofia", "Tessa",
    "Vera",
)  # fmt: skip
MEN = (
    "Adam", "Ben", "David", "Felix", "Henry", "Jonas", "Karl", "Leo", "Oscar", "Peter", "Simon", "Tom",
)  # fmt: skip
PEOPLE = tuple((name, "she", "her") for name in WOMEN) + tuple((name, "he", "him") for name in MEN)

OBJECTS = (
    "apples", "badges", "beads", "books", "bottles", "buttons", "cards", "coins", "cups", "dolls",
    "eggs", "flowers", "keys", "lamps", "marbles", "nuts", "pears", "pencils", "plates", "ribbons",
    "shells", "stamps", "stickers", "toys",
)  # fmt: skip

OPENINGS = ("{name} has {a} {objs}.", "{name} starts with {a} {objs}.", "{name} owns {a} {objs}.")

EVENTS = {
    "add": (
        "{who} buys {b} more {objs}",
        "{who} finds {b} more {objs}",
        "{who} collects {b} more {objs}",
        "{who} receives {b} extra {objs}",
        "{who} picks up {b} other {objs}",
        "a friend gives {whom} {b} new {objs}",
        "a cousin brings {whom} {b} new {objs}",
    ),
    "subtract": (
        "{who} sells {b} of the {objs}",
        "{who} loses {b} of the {objs}",
        "{who} gives away {b} of the {objs}",
        "{who} throws out {b} of the {objs}",
        "{who} uses up {b} of the {objs}",
        "a neighbour borrows {b} of the {objs}",
        "a storm ruins {b} of the {objs}",
    ),
    "multiply": (
        "{who} swaps each of the {objs} for {b} new ones",
        "{who} trades every one of the {objs} for {b} others",
        "{who} replaces each of the {objs} with {b} smaller ones",
        "{who} works hard until there are {b} times as many {objs}",
        "a kind aunt makes the number of {objs} {b} times as large",
        "the pile of {objs} grows to {b} times its size",
        "a machine turns every one of the {objs} into {b} copies",
    ),
    "divide": (
        "{who} splits the {objs} equally into {b} boxes and keeps only one box",
        "{who} packs the {objs} evenly into {b} bags and carries one bag home",
        "{who} sorts the {objs} into {b} equal piles and keeps a single pile",
        "{who} arranges the {objs} in {b} equal rows and keeps just one row",
        "{who} spreads the {objs} evenly over {b} shelves and keeps one shelf",
        "{who} shares the {objs} fairly in a group of {b} people",
        "a teacher deals the {objs} out equally to {b} children and {who} is one of them",
    ),
}

QUESTIONS = (
    "How many {objs} does {name} have now?",
    "How many {objs} does {name} have in the end?",
    "How many {objs} does {name} end up with?",
)

SCENES = {
    "add": ("At the market", "In the orchard", "At the bakery", "On the farm", "At the village fair"),
    "subtract": ("At the harbour", "On the train", "In the library", "At the bus stop", "On the beach"),
    "multiply": ("In the workshop", "At the museum", "In the garden", "At the castle", "In the laboratory"),
    "divide": ("At school", "In the kitchen", "At the picnic", "On the playground", "At the sports club"),
}
NEUTRAL_SCENES = (
    "On Monday morning",
    "After breakfast",
    "Before lunch",
    "On a rainy day",
    "Late in the afternoon",
    "Early in spring",
)

NOOP_CLAUSES = (
    "{n} of the {objs} are slightly smaller than the rest.",
    "{n} of the {objs} are older than the others.",
    "The walk home takes {n} minutes.",
    "The bus that passes by has {n} seats.",
    "A clock nearby is {n} minutes slow.",
    "The oldest person there is {n} years old.",
)
