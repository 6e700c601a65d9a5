"""The totals of the six histograms that the slides print, in our copy."""

printed = {
    10: [(1, 4, 5, 19, 21), (3, 5, 6, 16, 24), (3, 4, 4, 18, 21)],
    100: [(10, 8, 5, 11, 16), (6, 7, 10, 13, 14), (7, 10, 11, 9, 13)],
}
for t, histograms in printed.items():
    for z in histograms:
        print(f"t = {t}: {z} adds up to {sum(z)}")
assert [sum(z) for z in printed[10]] == [50, 54, 50]
assert all(sum(z) == 50 for z in printed[100])
