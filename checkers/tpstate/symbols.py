"""Symbolic integers: polynomials over names, so that `num_heads * (dim // num_heads)` is seen to be `dim`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from hashlib import md5


@dataclass(unsafe_hash=True, slots=True)
class Quotient:
    """An integer division that does not simplify: an atom of its own."""

    top: Poly
    bottom: Poly

    def __str__(self) -> str:
        return f"{_wrapped(self.top)} // {_wrapped(self.bottom)}"


Atom = str | Quotient

Monomial = tuple[Atom, ...]

_MAX_TERMS = 12

Number = int | Fraction
"""A factor: a whole number wherever it can be, since fractions are slow."""


def quotient(top: Number, bottom: Number) -> Number:
    """The exact quotient."""
    exact = Fraction(top) / bottom
    return int(exact) if exact.denominator == 1 else exact


_MAX_ATOMS = 48

_MAX_NAME = 300

_MAX_FACTOR = 1 << 128


def _wrapped(poly: Poly) -> str:
    text = str(poly)
    return text if text.replace("_", "a").replace(".", "a").isalnum() else f"({text})"


def _order(atom: Atom) -> str:
    return str(atom)


@dataclass(unsafe_hash=True, slots=True)
class Poly:
    """A sum of products with rational factors, in a canonical order; equal values of equal atoms compare equal."""

    terms: tuple[tuple[Monomial, Number], ...]

    @staticmethod
    def of(terms: dict[Monomial, Number]) -> Poly:
        kept = [(key, value) for key, value in terms.items() if value]
        return Poly(tuple(sorted(kept, key=lambda term: [_order(atom) for atom in term[0]])))

    @staticmethod
    def number(value: Number) -> Poly:
        return Poly.of({(): value})

    @staticmethod
    def atom(name: Atom) -> Poly:
        """A name or a quotient; a very long name (`((a % a) % (a % a)) % …`) is cut, with a digest of the rest."""
        if isinstance(name, str) and len(name) > _MAX_NAME:
            name = (
                f"{name[:_MAX_NAME]}…{md5(name.encode(errors='replace'), usedforsecurity=False).hexdigest()}"
            )
        return Poly((((name,), 1),))

    @property
    def constant(self) -> Number | None:
        """The number this is, when it holds no name."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and self.terms[0][0] == ():
            return self.terms[0][1]
        return None

    def __add__(self, other: Poly) -> Poly:
        total = dict(self.terms)
        for key, value in other.terms:
            total[key] = total.get(key, 0) + value
        return Poly.of(total)

    def __neg__(self) -> Poly:
        return Poly(tuple((key, -value) for key, value in self.terms))

    def __sub__(self, other: Poly) -> Poly:
        return self + (-other)

    def __mul__(self, other: Poly) -> Poly:
        total: dict[Monomial, Number] = {}
        for left, left_factor in self.terms:
            for right, right_factor in other.terms:
                key, factor = _product(left + right)
                total[key] = total.get(key, 0) + left_factor * right_factor * factor
        return Poly.of(total)

    def divided(self, other: Poly) -> Poly | None:
        """The exact quotient by a single product, or None when it is not one."""
        if len(other.terms) != 1:
            return Poly.number(1) if self == other else None
        (divisor, factor) = other.terms[0]
        result: dict[Monomial, Number] = {}
        for key, value in self.terms:
            left = list(key)
            for atom in divisor:
                if atom not in left:
                    return None
                left.remove(atom)
            result[tuple(left)] = quotient(value, factor)
        return Poly.of(result)

    def floor_divided(self, other: Poly) -> Poly:
        """Integer division: exact where it can be seen, a Quotient otherwise."""
        mine, theirs = self.constant, other.constant
        if mine is not None and theirs:
            return Poly.number(mine // theirs)
        exact = self.divided(other)
        if exact is not None and all(value.denominator == 1 for _, value in exact.terms):
            return exact
        if len(self.terms) == 1 and len(self.terms[0][0]) == 1 and self.terms[0][1] == 1:
            atom = self.terms[0][0][0]
            if isinstance(atom, Quotient):
                return Poly.atom(Quotient(atom.top, atom.bottom * other))
        return Poly.atom(Quotient(self, other))

    def atoms(self) -> set[str]:
        """Every name in it, inside quotients too."""
        found: set[str] = set()
        for key, _ in self.terms:
            for atom in key:
                if isinstance(atom, Quotient):
                    found |= atom.top.atoms() | atom.bottom.atoms()
                else:
                    found.add(atom)
        return found

    def ratio(self, other: Poly) -> Number | None:
        """self / other where that is a plain number."""
        if not self.terms or not other.terms:
            return None
        factor = quotient(self.terms[0][1], other.terms[0][1])
        scaled = Poly(tuple((key, value * factor) for key, value in other.terms))
        return factor if scaled == self else None

    def substituted(self, known: Mapping[str, Poly]) -> Poly:
        """The same with some names replaced by what they equal."""
        if not known or not self.atoms() & known.keys():
            return self
        total = Poly.number(0)
        for key, value in self.terms:
            product = Poly.number(value)
            for atom in key:
                if isinstance(atom, Quotient):
                    product = product * atom.top.substituted(known).floor_divided(
                        atom.bottom.substituted(known)
                    )
                else:
                    product = product * known.get(atom, Poly.atom(atom))
            total = total + product
        return total

    def small(self) -> bool:
        """Whether it is still worth carrying."""
        if len(self.terms) > _MAX_TERMS or any(len(key) > _MAX_TERMS for key, _ in self.terms):
            return False
        return self._count() <= _MAX_ATOMS and all(
            -_MAX_FACTOR < value < _MAX_FACTOR for _, value in self.terms
        )

    def _count(self) -> int:
        """The atoms in it, those inside quotients too."""
        return sum(
            atom.top._count() + atom.bottom._count() + 1 if isinstance(atom, Quotient) else 1
            for key, _ in self.terms
            for atom in key
        )

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        parts = []
        for key, value in self.terms:
            names = [
                f"({atom})" if isinstance(atom, Quotient) and len(key) > 1 else str(atom) for atom in key
            ]
            if value != 1 or not names:
                names.insert(0, str(value))
            parts.append(" * ".join(names))
        return " + ".join(parts).replace("+ -", "- ")


def _product(atoms: Monomial) -> tuple[Monomial, Number]:
    """Canonical order, with `(a // b) * b` read as `a` (sizes are built to divide)."""
    factor: Number = 1
    left = sorted(atoms, key=_order)
    changed = True
    while changed:
        changed = False
        for atom in left:
            if not isinstance(atom, Quotient) or len(atom.bottom.terms) != 1 or len(atom.top.terms) != 1:
                continue
            bottom, bottom_factor = atom.bottom.terms[0]
            rest = list(left)
            rest.remove(atom)
            if bottom and all(rest.count(part) >= bottom.count(part) for part in bottom):
                for part in bottom:
                    rest.remove(part)
                top, top_factor = atom.top.terms[0]
                left = sorted([*rest, *top], key=_order)
                factor *= quotient(top_factor, bottom_factor)
                changed = True
                break
    return tuple(left), factor
