import { FIELD_TREATMENTS, type Treatment } from '../../test/chat/field-treatments.ts';

const ORDER: readonly Treatment[] = ['default', 'partly', 'dropped', 'refused', 'same', 'yes'];
const HEAD = '| OpenAI, chat | OpenAI, Responses | Anthropic | Google | Fields |\n|---|---|---|---|---|';

/** By dialect of the caller, a table of the fields that some upstream does not take in full. */
export const renderDialectTables = (): Record<string, string> =>
  Object.fromEntries(
    FIELD_TREATMENTS.map(({ title, fields }) => {
      const partial = fields.filter((each) => !each.treatments.every((one) => one === 'same' || one === 'yes'));
      const rows = [...Map.groupBy(partial, ({ treatments }) => treatments.join(' | '))].toSorted(([a], [b]) =>
        keyOf(a).localeCompare(keyOf(b)),
      );
      const lines = rows.map(([cells, same]) => `| ${cells} | ${same.map(({ field }) => field).join('; ')} |`);
      return [title, [HEAD, ...lines].join('\n')];
    }),
  );

const keyOf = (cells: string): string =>
  cells
    .split(' | ')
    .map((each) => ORDER.indexOf(each as Treatment))
    .join('');
