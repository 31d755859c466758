"""A configuration file says what is wrong with it."""

import pytest

from onescience_check.runtime.errors import UserError
from onescience_check.runtime.yparams import SIZE, YParams

KNOWN = {
    "model": {"embed_dim": SIZE, "drop": (int, float), "img_size": [int] * 2, "train_time": [int]},
    "dataset": {"data_dir": str},
}
GOOD = "model:\n  embed_dim: 32\n  drop: 0\n  img_size: [48, 96]\n  train_time: [2000]\n"


def read(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return YParams(path, "model", KNOWN)


def test_keys_become_attributes(tmp_path):
    cfg = read(tmp_path, GOOD)
    assert (cfg.embed_dim, cfg.drop, cfg.img_size, cfg.train_time) == (32, 0, [48, 96], [2000])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("embed_dim", "embed_dims", "unknown key in section 'model': 'embed_dims'; did you mean 'embed_dim'"),
        ("  drop: 0\n", "", "key 'drop' is missing"),
        ("32", "many", "model.embed_dim must be int from 1 on, not 'many'"),
        ("32", "true", "model.embed_dim must be int from 1 on, not True"),
        ("32", "-4", "model.embed_dim must be int from 1 on, not -4"),
        ("[48, 96]", "[48, 96, 2]", r"model.img_size must be a list of 2 int, not \[48, 96, 2\]"),
        ("[2000]", "[]", "model.train_time must be a list of int"),
        ("model:", "modle:", "unknown section 'modle'; did you mean 'model'"),
        ("model:", "model:\n  1: 2", "unknown key in section 'model': 1; known are embed_dim, drop"),
        ("model:", "training: {}\nmodel:", "unknown section 'training'; known are model, dataset"),
        (GOOD, "dataset: {}", "no section 'model'"),
        (GOOD, "- model", "no section 'model'"),
        ("model:", "model: [", "not valid YAML"),
    ],
)
def test_mistakes_are_named(tmp_path, old, new, message):
    with pytest.raises(UserError, match=message):
        read(tmp_path, GOOD.replace(old, new))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"cannot read the configuration .*nowhere\.yaml"):
        YParams(tmp_path / "nowhere.yaml", "model", KNOWN)
