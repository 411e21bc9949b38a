/** `1,000`, `1 000,5`, `1'000.5` and `1,00,000`; the groups have one sign and the decimals, if any, another one. */
const GROUPED = /^([1-9]\d{0,2}([,. '’_])(?:\d{2,3}\2)*\d{3})(?:(?!\2)[.,](\d+))?$/;
/** What makes another number of the one before it, such as a multiple, a fraction or a minus. */
const MULTIPLE =
  /^(?:[kmgt]i?b?\b|mm\b|bn?\b|mio\b|mi?ln\b|mrd\b|tsd\b|hundred|thousand|lakh|crore|million|billion|trillion|per ?cent|pct\b|cents?\b|分(?!钟|鐘)|[¢角毛十拾百佰千仟万萬亿億兆%‰×*^/]|e[+-]?$|-$)/i;
/** Exponents and footnotes, which look like further digits once they are plain. */
const RAISED = /[⁰¹²³⁴-⁹₀-₉]/;
/** No number is written longer; the start of a text is not what the text means. */
const MAX_LENGTH = 100;

/**
 * The number that a copied text means, as plain digits: with grouping, decimal comma, sign, currency or unit, and with
 * full-width or Arabic digits. Both languages of the console mean a thousand by `1,000` and one by `1.000`.
 *
 * @returns undefined if the text is no number, or one in another notation
 */
export function parsePastedNumber(pasted: string): string | undefined {
  if (pasted.length > MAX_LENGTH || RAISED.test(pasted)) return undefined;
  const text = pasted
    .normalize('NFKC')
    .replace(/[٠-٩۰-۹]/g, (digit) => String(digit.charCodeAt(0) & 15))
    .replace(/[‒–−]/g, '-')
    .replace(/[。٫]/g, '.')
    .replaceAll('٬', ',')
    .trim();
  if (/^[+-]?\d+(?:\.\d+)?e[+-]?\d+$/i.test(text)) return withoutExponent(text);
  const [, before = '', digits, after = ''] =
    /^((?:[\p{Sc}+\s-]|[A-Z]{2,3}(?=[\s\p{Sc}]))*)([\d.](?:[\d.,'’_ ]*[\d.])?)([^\d]*)$/u.exec(text) ?? [];
  const number = digits === undefined ? undefined : toPlainDigits(digits);
  const sign = before.replace(/[^+-]/g, '');
  if (number === undefined || sign.length > 1 || MULTIPLE.test(after.trim())) return undefined;
  return sign === '-' ? `-${number}` : number;
}

function toPlainDigits(text: string): string | undefined {
  const [, whole = '', separator, decimals] = GROUPED.exec(text) ?? [];
  // A single point separates decimals.
  if (separator !== undefined && (separator !== '.' || decimals !== undefined || whole.split('.').length > 2))
    return whole.replace(/\D/g, '') + (decimals === undefined ? '' : `.${decimals}`);
  return /^(?:\d+(?:[.,]\d*)?|\.\d+)$/.test(text) ? text.replace(',', '.') : undefined;
}

function withoutExponent(text: string): string | undefined {
  const number = String(Number(text));
  return /^-?\d+(?:\.\d+)?$/.test(number) ? number : undefined;
}
