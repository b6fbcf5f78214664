"""`python -m scapo.engines.verl RECIPE.yaml [key=value ...]`."""

import sys

from scapo.engines.verl.launch import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
