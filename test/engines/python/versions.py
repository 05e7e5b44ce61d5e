"""Prints the version of every package that the arguments name, one per line."""
import sys
from importlib.metadata import version

for package in sys.argv[1:]:
    print(package, version(package))
