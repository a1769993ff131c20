"""Answers that are wrong, and the words that name the mistake."""

WRONG = {
    "start-arrange": [
        ('order = "BDA"', "detach cuts the path"),
        ('order = "BCDA"', "line D does not belong"),
        ('order = "BC"', "3 lines belong, these are 2"),
        ('order = "CBA"', "NameError: name 'x' is not defined"),
        ('order = "BCCA"', "stands there twice"),
        ("order = [2, 3, 1]", "write it as letters"),
    ],
}
