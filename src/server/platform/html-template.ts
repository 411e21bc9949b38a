/** Markup that is safe to send: made by `html`, or from a text of our own. */
export class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type TemplateValue = string | number | Markup | undefined | readonly Markup[];

/** Text as it may stand anywhere in HTML, attribute values in quotes included. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** Markup from a template: whatever is put in is escaped, unless it is markup itself; undefined is nothing. */
export function html(parts: TemplateStringsArray, ...values: readonly TemplateValue[]): Markup {
  return new Markup(parts.reduce((text, part, index) => `${text}${toMarkup(values[index - 1])}${part}`));
}

function toMarkup(piece: TemplateValue): string {
  if (piece === undefined) return '';
  if (piece instanceof Markup) return piece.text;
  return typeof piece === 'object' ? piece.map(toMarkup).join('') : escapeHtml(`${piece}`);
}
