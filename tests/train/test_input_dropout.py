"""The share of an encoder's input that is set to zero, in runs from before there was a choice."""

from node_runs import bits, forget, train


def test_a_run_from_before_there_was_a_choice_loses_as_much_of_the_input_as_between_layers(cli, communities, tmp_path):
    settings = ("model.dropout=0.4", "model.input_dropout=0.4")
    expected = train(cli, communities, tmp_path / "whole", *settings, "training.epochs=2")
    assert train(cli, communities, tmp_path / "none", settings[0], "model.input_dropout=0", "training.epochs=2")[1] != expected[1]
    train(cli, communities, tmp_path / "old", *settings, "training.epochs=1")
    forget(tmp_path / "old", "input_dropout")
    assert cli("resume", tmp_path / "old", "--set", "training.epochs=2") == 0
    assert bits(tmp_path / "old")[1] == expected[1]
