"""Greet says hello to whom it is told to."""

import sys


def greeting(name):
    # TODO: greet the person by name.
    return "Hello!"


print(greeting(sys.argv[1]))
