import { Table, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { TOKEN_PARTS } from '../../contract/pricing.ts';
import type { Receipt } from '../data/request-log-queries.ts';
import type requestStrings from '../strings/en/requests.ts';
import { currentLanguage } from '../strings/init-and-change-language.ts';
import { useFormatPrice } from './use-format-credits.ts';

type LineLabel = keyof typeof requestStrings.lines;
const TOKEN_LABELS: ReadonlySet<string> = new Set(['input', 'output', ...Object.keys(TOKEN_PARTS)]);
const MILLION = 1_000_000;

interface PriceLinesTableProps {
  readonly lines: Receipt['lines'];
  /** What they add up to, rounded up. */
  readonly total: number;
}

/** How a cost is made up: a line for each term of the price, as receipts and quotes have them. */
export function ReceiptLinesTable({ lines, total }: PriceLinesTableProps) {
  const { t } = useTranslation('requests');
  const price = useFormatPrice();
  const number = new Intl.NumberFormat(currentLanguage(), { maximumFractionDigits: 6 }).format;
  return (
    <Table.ScrollContainer
      minWidth={380}
      // Where it scrolls, the keyboard must be able to scroll it.
      scrollAreaProps={{ viewportProps: { tabIndex: 0, 'aria-label': t('linesTitle'), role: 'region' } }}
    >
      <Table verticalSpacing={6} horizontalSpacing="xs" aria-label={t('linesTitle')}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('lineLabel')}</Table.Th>
            <Table.Th ta="right">{t('quantity')}</Table.Th>
            <Table.Th ta="right">{t('unitPrice')}</Table.Th>
            <Table.Th ta="right">{t('amount')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody style={{ fontVariantNumeric: 'tabular-nums' }}>
          {lines.map((line) => (
            <Table.Tr key={line.label}>
              <Table.Td>{t(`lines.${line.label as LineLabel}`, { defaultValue: line.label })}</Table.Td>
              <Table.Td ta="right">{number(line.quantity)}</Table.Td>
              <Table.Td ta="right">
                {TOKEN_LABELS.has(line.label)
                  ? t('perMillion', { price: price(line.unit_quota * MILLION) })
                  : price(line.unit_quota)}
                {line.multiplier === 1 ? null : (
                  <Text span size="xs" c="dimmed">
                    {` × ${number(line.multiplier)}`}
                  </Text>
                )}
              </Table.Td>
              <Table.Td ta="right">{price(line.quota)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
        <Table.Tfoot>
          <Table.Tr>
            <Table.Th colSpan={3}>{t('total')}</Table.Th>
            <Table.Th ta="right" style={{ fontVariantNumeric: 'tabular-nums' }}>
              {price(total)}
            </Table.Th>
          </Table.Tr>
        </Table.Tfoot>
      </Table>
    </Table.ScrollContainer>
  );
}
