#!/bin/bash
# What the QUIC interop runner starts. /setup.sh and /wait-for-it.sh are the image's.
set -euo pipefail

# The routes through the simulator.
/setup.sh

if [[ $ROLE == client ]]; then
    # Until the simulator is up.
    /wait-for-it.sh sim:57832 -s -t 30
fi
exec petra-endpoint
