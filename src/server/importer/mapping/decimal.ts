/** An exact decimal: `value` × 10^-`places`. */
export interface Decimal {
  readonly value: bigint;
  readonly places: number;
}

/** A JavaScript number as the decimal it is written as: 0.1 is one tenth. Undefined for what is no finite number. */
export function toDecimal(number: number): Decimal | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(number));
  if (match === null) return undefined;
  const [, sign, whole = '0', decimals = '', exponent = '0'] = match;
  const value = BigInt(`${sign}${whole}${decimals}`);
  const places = decimals.length - Number(exponent);
  return places >= 0 ? { value, places } : { value: value * 10n ** BigInt(-places), places: 0 };
}

export const multiply = (...factors: readonly Decimal[]): Decimal => ({
  value: factors.reduce((product, { value }) => product * value, 1n),
  places: factors.reduce((sum, { places }) => sum + places, 0),
});

/** Rounded half away from zero. `exact`: nothing was rounded. */
export function round({ value, places }: Decimal): { readonly quota: bigint; readonly exact: boolean } {
  const unit = 10n ** BigInt(places);
  const negative = value < 0n;
  const size = negative ? -value : value;
  const quota = (size * 2n + unit) / (unit * 2n);
  return { quota: negative ? -quota : quota, exact: size % unit === 0n };
}
