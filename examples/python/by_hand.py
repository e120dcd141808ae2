"""An agent without a framework: a loop ends with a reason, and a person learns of it."""

from haltline import Denied, Session, Stopped

session = Session("example", memory=True)


@session.guarded
def run_tests(path: str) -> str:
    raise RuntimeError("2 tests failed: login expects 200, got 500")


for turn in range(1, 10):
    try:
        result = run_tests("tests/login")
    except Stopped as stop:
        print(f"turn {turn}: the agent's turn ends ({stop.verdict.code})")
        break
    except Denied as denied:
        result = str(denied)
        print(f"turn {turn}: denied ({denied.verdict.code})")
    except RuntimeError as error:
        result = str(error)
        print(f"turn {turn}: failed")
    # The model reads `result` and chooses its next call.
session.end()
