"""Runs what `interop/run` asks for; see there. Exits with 1 when something failed."""

import argparse
import json
import shutil
import sys
import time
from pathlib import Path

import bench
import contract
import matrix
import pacing
import stacks
from cases import CASES
from peers import Peers


def arguments():
    parser = argparse.ArgumentParser(prog="interop/run", description="PETRA against other people's stacks")
    parser.add_argument("--target", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--profile", default="debug", help=argparse.SUPPRESS)
    both = argparse.ArgumentParser(add_help=False)
    both.add_argument("-o", "--output", type=Path, default=Path("results/interop"),
                      help="a folder for what the runs leave; that of the command in it must be new "
                           "[default: results/interop]")
    both.add_argument("--keep", action="store_true", help="keep what runs leave that passed")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("contract", parents=[both], help="the interop runner's test cases, both ways")
    one.add_argument("--peer", default="quic-go", help="the other endpoint: quic-go, or petra for our own")
    one.add_argument("--case", action="append", choices=[case.name for case in CASES], help="repeatable")
    one.add_argument("--cc", default="petra", help="our controller")
    one.add_argument("--repeat", type=int, default=1, help="runs of each measurement; the runner has 5")
    other = commands.add_parser("matrix", parents=[both], help="HTTP/3 with every peer, as client and as server")
    other.add_argument("--peer", action="append", help="repeatable; all if not given")
    other.add_argument("--cc", action="append", help="repeatable; petra if not given")
    other.add_argument("--seeds", type=int, default=1, help="runs of each cell where we send")
    other.add_argument("--size", type=int, default=4_000_000, help="bytes of the body")
    other.add_argument("--require-all", action="store_true", help="fail when a peer is missing")
    third = commands.add_parser("pacing", parents=[both],
                                help="bursts and queue at a bottleneck, with tokio-quiche")
    third.add_argument("--server", action="append", choices=list(pacing.SERVERS),
                       help="repeatable; all if not given")
    third.add_argument("--build", action="append", default=[], metavar="NAME=PATH",
                       help="another build of interop/tokio-quiche; repeatable")
    third.add_argument("--link", action="append", choices=list(pacing.LINKS),
                       help="repeatable; all if not given")
    third.add_argument("--cc", action="append", help="repeatable; petra if not given")
    third.add_argument("--seeds", type=int, default=3, help="runs of each")
    third.add_argument("--seconds", type=float, default=4,
                       help="how long a transfer takes at the link's rate")
    fourth = commands.add_parser("stacks", parents=[both],
                                 help="controllers in quinn, noq, s2n-quic and quiche")
    fourth.add_argument("--stack", action="append", choices=list(stacks.STACKS),
                        help="repeatable; all if not given")
    fourth.add_argument("--link", action="append", choices=list(stacks.LINKS),
                        help="repeatable; all if not given")
    fourth.add_argument("--cc", action="append", help="repeatable; petra, westwood and the stack's own if not given")
    fourth.add_argument("--seeds", type=int, default=3, help="runs of each")
    fourth.add_argument("--seconds", type=float, default=20, help="duration of a download")
    fifth = commands.add_parser("bench", parents=[both], help="speed, CPU time and memory on this machine")
    fifth.add_argument("--server", action="append", help="a row of the tables; repeatable; all if not given")
    fifth.add_argument("--turns", type=int, default=2, help="runs of each, of which the best counts")
    options = parser.parse_args()
    if "cc" in options and options.command != "stacks":
        options.cc = options.cc or ["petra"]
    return options


def run_contract(options, peers, out):
    pairs = peers.contract()
    if options.peer not in pairs:
        print(f"{options.peer}: missing: not installed")
        return True, ["", f"| {options.peer} | missing |"]
    ours, theirs = pairs["petra"], pairs[options.peer]
    ways = {"their client": (theirs[0], ours[1]), "their server": (ours[0], theirs[1])}
    cases = [case for case in CASES if not options.case or case.name in options.case]
    lines = [f"| test case | {options.peer}'s client to us | our client to {options.peer} |", "|---|---|---|"]
    record, good = [], True
    for case in cases:
        row = []
        for way, (client, server) in ways.items():
            results = []
            for turn in range(options.repeat if case.measured else 1):
                folder = out / f"{case.name}-{way.replace(' ', '-')}-{turn}"
                started = time.monotonic()
                results.append(contract.run(case, client, server, folder, peers.programs, options.cc))
                if results[-1].outcome not in (contract.FAILED, contract.LATE) and not options.keep:
                    shutil.rmtree(folder)
            bad = next((r for r in results if r.outcome != contract.OK), results[0])
            rates = [r.kbps for r in results if r.kbps]
            text = bad.outcome + (f" {sum(rates) / len(rates):.0f} kbit/s" if rates else "")
            good &= bad.outcome != contract.FAILED
            row.append(text)
            took = time.monotonic() - started
            reason = f": {bad.reason}" if bad.reason else ""
            print(f"{case.name}, {way}: {text}{reason} ({took:.0f} s)", flush=True)
            record.append({"case": case.name, "way": way, "outcome": bad.outcome,
                           "reason": bad.reason, "kbps": rates})
            (out / "contract.json").write_text(json.dumps(record, indent=1))
        lines.append(f"| {case.name} | {row[0]} | {row[1]} |")
    return good, lines


def run_matrix(options, peers, out):
    cells = matrix.matrix(options, peers, out)
    lines, short = matrix.table(cells)
    outcomes = [cell["outcome"] for cell in cells]
    good = "FAILED" not in outcomes and not (options.require_all and "missing" in outcomes)
    return good, lines + [""] + short


def main():
    options = arguments()
    out = (options.output / options.command).resolve()
    if out.exists():
        sys.exit(f"interop: error: {out} exists; remove it, or name another folder with --output")
    out.mkdir(parents=True)
    peers = Peers(options.target.resolve(), options.profile)
    run = {"contract": run_contract, "matrix": run_matrix, "pacing": pacing.pacing,
           "stacks": stacks.stacks, "bench": bench.bench}[options.command]
    good, lines = run(options, peers, out)
    text = "\n".join(lines)
    (out / f"{options.command}.md").write_text(text + "\n")
    print("\n" + text)
    passed = "nothing failed; what is missing was not tried" if "missing" in text else "all passed"
    if "late |" in text:
        print(f"SKIPPED: interop/run {options.command}: the machine was late in what has the outcome `late`")
        passed = "nothing failed; what is late was not judged"
    passed = passed if good else f"something failed; traces and captures are in {out}"
    print(f"\ninterop: {passed}")
    sys.exit(0 if good else 1)


main()
