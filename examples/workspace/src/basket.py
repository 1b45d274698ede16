"""A shopping basket that knows its total."""

from dataclasses import dataclass, field


@dataclass
class Item:
    """Something that can be bought; the price is in cents."""

    name: str
    price: int


@dataclass
class Basket:
    """Items in the order in which they were added."""

    items: list[Item] = field(default_factory=list)

    def add(self, item: Item) -> None:
        self.items.append(item)

    def total(self) -> int:
        total = 0
        for item in self.items:
            total += item.price
        return total

    def receipt(self) -> str:
        rows = [f"{item.name:<20}{item.price / 100:>8.2f}" for item in self.items]
        rows.append(f"{'total':<20}{self.total() / 100:>8.2f}")
        return "\n".join(rows)
