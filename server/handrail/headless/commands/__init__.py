"""
The commands of the headless client: run one turn; look at, restore and remove what is kept; list rules.

Each starts a server process, lets it work on the workspace folder, and ends it. Whatever happens, documents
with unsaved text are written to disk at the end. Exit codes:

- 0: the turn gave its answer, and all that it wanted to change has landed; or it had nothing to change.
- 1: something did not land, was denied, could not be saved or could not be restored, and is named. It does
  not matter how the turn ended then: what is half done is what one must look at first.
- 2: nothing of that kind, but the turn did not come to its end (stopped by a guard, cancelled, provider
  lost); or there is no report at all, since it could not run or the server was lost.

With `as_json`, stdout holds one JSON value, and nothing if there is none to give.
"""
