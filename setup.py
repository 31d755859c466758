"""What setup.cfg cannot say: the addresses, and a README whose links hold on an index.

`ONESCIENCE_CHECK_ADDRESS` is the address of the repository. Without it nothing of a package points anywhere: links
become their words.
"""

import os
import re
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).parent


def description(address: str, revision: str) -> str:
    """The README as an index shows it, where paths of the repository mean nothing."""
    shown = f"{address.rstrip('/')}/blob/{revision}/"

    def changed(match: re.Match[str]) -> str:
        words, link = match[1], match[2]
        if re.match(r"[a-z]+:|#", link):
            return match[0]
        return f"[{words}]({shown}{link})" if address else words

    return re.sub(r"\[([^\[\]]*)\]\(([^()\s]+)\)", changed, (ROOT / "README.md").read_text("utf-8"))


def addresses(address: str, revision: str) -> dict[str, str]:
    """Project-URLs by their names."""
    if not address:
        return {}
    place = address.rstrip("/")
    return {
        "Source": place,
        "Documentation": f"{place}/tree/{revision}/docs",
        "Changelog": f"{place}/blob/{revision}/CHANGELOG.md",
        "Issues": f"{place}/issues",
    }


def main() -> None:
    """Build what is asked for."""
    from setuptools import setup

    parser = ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg", "utf-8")
    address, revision = os.environ.get("ONESCIENCE_CHECK_ADDRESS", ""), f"v{parser['metadata']['version']}"
    setup(
        long_description=description(address, revision),
        long_description_content_type="text/markdown",
        project_urls=addresses(address, revision),
    )


if __name__ == "__main__":
    main()
