"""The table of faults: for each story of a job and each write on its way, what each fault changes.

A story is played once without a fault, and each write that a component asks for is a point. Then it is played once more
for each point and each fault. `oracle` judges how it ended, from the tables' raw items and what was called and told;
`words` says how that differs from the play without a fault; `page` makes tests/fixtures/faults.md of it.
"""
