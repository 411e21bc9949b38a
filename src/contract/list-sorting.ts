import Type from 'typebox';

/** What a list is sorted by. */
export interface Sort<Key extends string = string> {
  readonly key: Key;
  readonly descending: boolean;
}

/** The query parameter of a list that can be sorted: `name`, or `-name` for the last name first. */
export const SortBy = <const Key extends string>(keys: readonly Key[], description?: string) =>
  Type.Optional(
    Type.Enum(
      keys.flatMap((key): (Key | `-${Key}`)[] => [key, `-${key}`]),
      description === undefined ? {} : { description },
    ),
  );

/** `-cost`: by cost, the highest first. Undefined for anything that has not this form. */
export function parseSort<Key extends string = string>(text: Key | `-${Key}` | undefined): Sort<Key> | undefined {
  const match = /^(-?)([a-z_]{1,40})$/.exec(text ?? '');
  return match === null ? undefined : { key: match[2] as Key, descending: match[1] === '-' };
}
export const formatSort = ({ key, descending }: Sort): string => `${descending ? '-' : ''}${key}`;

/** Rows sorted by a value of theirs; rows without one are last in both directions, and equals keep their order. */
export function sortRowsBy<Row>(
  rows: readonly Row[],
  descending: boolean,
  toValue: (row: Row) => string | number | null,
): readonly Row[] {
  const sign = descending ? -1 : 1;
  return rows.toSorted((one, other) => {
    const [a, b] = [toValue(one), toValue(other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return sign * (typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b)));
  });
}
