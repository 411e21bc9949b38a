/** A member of the set, with its index. */
export interface ArrayBackedSetMember {
  index: number;
}

/**
 * What is under way just now, in no order. A `Set` would do the same, but one that changes all the time makes itself a new
 * table again and again, and a former table that has grown old keeps the new one from being collected, and all that is
 * in it: every call would live until the whole heap is gone through.
 */
export class ArrayBackedSet<T extends ArrayBackedSetMember> implements Iterable<T> {
  readonly #members: T[] = [];

  add(item: T): void {
    item.index = this.#members.length;
    this.#members.push(item);
  }

  /** Does nothing where it is no member. */
  remove(item: T): void {
    if (this.#members[item.index] !== item) return;
    const last = this.#members.pop();
    if (last === undefined || last === item) return;
    this.#members[item.index] = last;
    last.index = item.index;
  }

  /** How many members meet the condition. */
  count(condition: (item: T) => boolean): number {
    return this.#members.reduce((sum, item) => sum + Number(condition(item)), 0);
  }

  [Symbol.iterator](): IterableIterator<T> {
    // A visit may end what it visits.
    return [...this.#members].values();
  }
}
