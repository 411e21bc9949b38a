/** What a `NumberInput` holds; undefined where it is empty. */
export const readNumberInput = (value: number | string): number | undefined =>
  value === '' ? undefined : Number(value);
