import sys
from pathlib import Path

from gossamer.worker.process import main

if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
