"""Sends the requests of conformance.jsonl to a program and compares the responses.

Usage: conformance.py [PROGRAM [ARGUMENT...]]; default: haltline serve --stdio --memory

PROGRAM reads requests and writes responses, one per line: haltline itself, or a client library that forwards each line.
A response matches if it has every member that `expect` names. If the Python package jsonschema is there, each request
and response must also fit the schema.
"""

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SCHEMA = HERE.parent.parent / "docs/reference/protocol.schema.json"


def differences(expected, found, path="response"):
    if isinstance(expected, dict) and isinstance(found, dict):
        for name, value in expected.items():
            yield from differences(value, found.get(name), f"{path}.{name}")
    elif expected != found:
        yield f"{path}: expected {expected!r}, found {found!r}"


def validators():
    try:
        import jsonschema
    except ImportError:
        return None, None
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    part = lambda name: jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})
    return part("request"), part("response")


def main():
    command = sys.argv[1:] or ["haltline", "serve", "--stdio", "--memory"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    requests, responses = validators()
    failed = 0
    lines = (HERE / "conformance.jsonl").read_text().splitlines()
    for number, case in enumerate(map(json.loads, lines), start=1):
        request = {"v": 1, "id": number, **case.get("request", {})}
        line = case.get("line") or json.dumps(request)
        child.stdin.write(line.encode() + b"\n")
        child.stdin.flush()
        response = json.loads(child.stdout.readline() or b"{}")
        expected = case["expect"] if "line" in case else {"id": number, **case["expect"]}
        problems = list(differences(expected, response))
        is_wrong_on_purpose = case["expect"].get("error", {}).get("kind") == "usage"
        if requests and not is_wrong_on_purpose and not requests.is_valid(json.loads(line)):
            problems.append("the request does not fit the schema")
        if responses and not responses.is_valid(response):
            problems.append(f"the response does not fit the schema: {response}")
        failed += bool(problems)
        print("not ok" if problems else "ok", number, "-", case["name"])
        for problem in problems:
            print("  #", problem)
    child.stdin.close()
    code = child.wait(timeout=60)
    print(f"1..{len(lines)}")
    sys.exit(1 if failed or code else 0)


main()
