for number in (1, 2, 3):
    step = thinking.sequentialthinking(
        thought=f"thought {number}", nextThoughtNeeded=number < 3, thoughtNumber=number, totalThoughts=3
    )
assert step.thoughtNumber == 3 and step.nextThoughtNeeded is False and step.thoughtHistoryLength == 3, step
