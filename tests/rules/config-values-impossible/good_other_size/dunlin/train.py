import yaml
from model import Dunlin


def main():
    with open("config.yaml") as file:
        cfg = yaml.safe_load(file)
    return Dunlin(img_size=cfg["img_size"], dim=cfg["dim"])
