"""ROC AUC and average precision by their definitions, over pairs and over thresholds."""


def by_pairs(odds, have):
    wins = [float(p > n) + (p == n) / 2 for p in odds[have] for n in odds[~have]]
    return sum(wins) / len(wins)


def by_thresholds(odds, have):
    """The area below precision over recall, as a sum of steps."""
    total, recall = 0.0, 0.0
    for threshold in sorted(set(odds.tolist()), reverse=True):
        said = odds >= threshold
        now = (said & have).sum() / have.sum()
        total += (now - recall) * (said & have).sum() / said.sum()
        recall = now
    return total
