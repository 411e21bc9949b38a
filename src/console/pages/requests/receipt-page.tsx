import { Badge, Button, Code, Group, SimpleGrid, Stack, Table, Text } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { TOKEN_PARTS } from '../../../contract/pricing.ts';
import { CopyIconButton, JsonView } from '../../components/copy-button.tsx';
import {
  SignedAmount,
  useFormatPrice,
  useRounding,
  useSettlementName,
  useUnitPrice,
} from '../../components/credit-amount.tsx';
import { QueryError } from '../../components/error-alert.tsx';
import { ServedModel } from '../../components/model-name.tsx';
import { Page, PageLoadingIndicator } from '../../components/page.tsx';
import { DescriptionList, Panel } from '../../components/panel.tsx';
import { RouteLink, useRouteId } from '../../components/route-link.tsx';
import { downloadFile } from '../../data/files.ts';
import { formatDateTime, formatDecimal, formatDuration } from '../../data/format-values.ts';
import { type Receipt, receiptQuery } from '../../data/requests.ts';
import { useModelTitle } from '../../data/self.ts';
import type requestStrings from '../../strings/en/requests.ts';

const COLORS = { open: 'blue', charged: 'teal', refunded: 'gray' } as const;

/** Receipt of one call or video: its cost and how it was computed. */
export function ReceiptPage() {
  const { t } = useTranslation('requests');
  const ref = useRouteId();
  const receipt = useQuery(receiptQuery(ref));
  if (receipt.data !== undefined) return <ReceiptDetails receipt={receipt.data} />;
  return (
    <Page title={t('receipt')} subtitle={<RouteLink to="/account/requests">{t('allRequests')}</RouteLink>}>
      {receipt.error === null ? <PageLoadingIndicator /> : <QueryError query={receipt} />}
    </Page>
  );
}

function ReceiptDetails({ receipt }: { readonly receipt: Receipt }) {
  const { t } = useTranslation('requests');
  const facts = Object.entries(receipt.facts);
  const titleOf = useModelTitle();
  return (
    <Page
      title={t('receiptOf', { model: titleOf(receipt.model) })}
      subtitle={<RouteLink to="/account/requests">{t('allRequests')}</RouteLink>}
      actions={
        <>
          <Badge color={COLORS[receipt.outcome]} size="lg">
            {t(`outcomes.${receipt.outcome}`)}
          </Badge>
          <Button variant="default" leftSection={<IconDownload size={16} />} onClick={() => saveReceipt(receipt)}>
            {t('downloadJson')}
          </Button>
        </>
      }
    >
      <Stack>
        <Group gap={4} wrap="nowrap">
          <Code fz="sm" style={{ overflowWrap: 'anywhere' }}>
            {receipt.ref}
          </Code>
          <CopyIconButton text={receipt.ref} />
        </Group>
        <Panel title={t('summary')}>
          <DescriptionList facts={useSummary(receipt)} />
        </Panel>
        {receipt.lines.length === 0 ? null : (
          <Panel title={t('linesTitle')}>
            <ReceiptLinesTable lines={receipt.lines} total={receipt.charged} />
          </Panel>
        )}
        <SimpleGrid cols={{ base: 1, md: 2 }} style={{ alignItems: 'start' }}>
          <Panel title={t('ledger')}>
            <LedgerEntries receipt={receipt} />
          </Panel>
          {facts.length === 0 && receipt.price === null ? null : (
            <Panel title={t('pricedBy')}>
              <Text size="sm" mb="xs">
                {t('pricedByHint')}
              </Text>
              <JsonView value={{ facts: receipt.facts, price: receipt.price }} />
            </Panel>
          )}
        </SimpleGrid>
      </Stack>
    </Page>
  );
}

function useSummary(receipt: Receipt) {
  const { t } = useTranslation(['requests', 'app']);
  const price = useFormatPrice();
  const sources = receipt.sources.map(({ kind, quota }) => `${t(`sources.${kind}`)} ${price(quota)}`).join(' · ');
  return [
    [t('model'), <ServedModel key="model" id={receipt.model} served={receipt.served_model} />],
    [t('kind'), t(`kinds.${receipt.kind}`)],
    ...(receipt.organization === ''
      ? []
      : [
          [t('app:organization'), receipt.organization] as const,
          [t('app:member'), receipt.submitted_by || '–'] as const,
        ]),
    [t('began'), formatDateTime(receipt.created_at)],
    [t('duration'), receipt.ended_at === null ? '–' : describeSeconds(receipt.ended_at - receipt.created_at)],
    [t('reserved'), price(receipt.reserved)],
    [t('charged'), price(receipt.charged)],
    [t('refunded'), price(receipt.refunded)],
    [t('paidFrom'), sources === '' ? '–' : sources],
  ] as const;
}

/** Ledger entries of the call, for wallet and allowance. */
function LedgerEntries({ receipt }: { readonly receipt: Receipt }) {
  const { t } = useTranslation('requests');
  const settlement = useSettlementName();
  if (receipt.ledger.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {t('noLedger')}
      </Text>
    );
  return (
    <Table verticalSpacing="xs" horizontalSpacing={4} aria-label={t('ledger')}>
      <Table.Tbody>
        {receipt.ledger.map(({ id, kind, quota, time }) => (
          <Table.Tr key={id}>
            <Table.Td>
              <Text size="sm">
                {kind === 'settle'
                  ? settlement(quota)
                  : t(`ledgerKinds.${kind}` as 'ledgerKinds.reserve', { defaultValue: kind })}
              </Text>
              <Text size="xs" c="dimmed">
                #{id} · {formatDateTime(time)}
              </Text>
            </Table.Td>
            <Table.Td ta="right">{quota === 0 ? null : <SignedAmount value={quota} />}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

const saveReceipt = (receipt: Receipt): void =>
  downloadFile(
    `receipt-${receipt.ref.replace(/[^\w-]/g, '_')}.json`,
    new Blob([JSON.stringify(receipt, null, 2)], { type: 'application/json' }),
  );

type LineLabel = keyof typeof requestStrings.lines;
const TOKEN_LABELS: ReadonlySet<string> = new Set(['input', 'output', ...Object.keys(TOKEN_PARTS)]);
const MAX_DECIMALS = 6;

type ReceiptLine = Receipt['lines'][number];

interface PriceLinesTableProps {
  readonly lines: Receipt['lines'];
  /** Sum of the lines, rounded up. */
  readonly total: number;
}

/** Composition of a cost: one row per term of the price, as in receipts and quotes. */
function ReceiptLinesTable({ lines, total }: PriceLinesTableProps) {
  const { t } = useTranslation('requests');
  const price = useFormatPrice();
  const perUnit = useUnitPrice();
  const rounding = useRounding(lines, total, 'exact');
  const number = (value: number): string => formatDecimal(value, MAX_DECIMALS);
  const unitPrice = ({ label, unit_quota: unit }: ReceiptLine): string =>
    TOKEN_LABELS.has(label) ? perUnit(unit, true) : perUnit(unit);
  const factor = ({ multiplier }: ReceiptLine): string => (multiplier === 1 ? '' : ` × ${number(multiplier)}`);
  return (
    <Table verticalSpacing={6} horizontalSpacing="xs" aria-label={t('linesTitle')}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('lineLabel')}</Table.Th>
          <Table.Th ta="right" visibleFrom="sm">
            {t('quantity')}
          </Table.Th>
          <Table.Th ta="right" visibleFrom="sm">
            {t('unitPrice')}
          </Table.Th>
          <Table.Th ta="right">{t('amount')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody style={{ fontVariantNumeric: 'tabular-nums' }}>
        {lines.map((line) => (
          <Table.Tr key={line.label}>
            <Table.Td>
              {t(`lines.${line.label as LineLabel}`, { defaultValue: line.label })}
              <Text size="xs" c="dimmed" hiddenFrom="sm">
                {`${number(line.quantity)} × ${unitPrice(line)}${factor(line)}`}
              </Text>
            </Table.Td>
            <Table.Td ta="right" visibleFrom="sm">
              {number(line.quantity)}
            </Table.Td>
            <Table.Td ta="right" visibleFrom="sm">
              {unitPrice(line)}
              <Text span size="xs" c="dimmed">
                {factor(line)}
              </Text>
            </Table.Td>
            <Table.Td ta="right">{price(line.quota)}</Table.Td>
          </Table.Tr>
        ))}
        {rounding === 0 ? null : (
          <Table.Tr>
            <Table.Td>{t('rounding')}</Table.Td>
            <Table.Td visibleFrom="sm" />
            <Table.Td visibleFrom="sm" />
            <Table.Td ta="right">{price(rounding)}</Table.Td>
          </Table.Tr>
        )}
      </Table.Tbody>
      <Table.Tfoot>
        <Table.Tr>
          <Table.Th>{t('total')}</Table.Th>
          <Table.Td visibleFrom="sm" />
          <Table.Td visibleFrom="sm" />
          <Table.Th ta="right" style={{ fontVariantNumeric: 'tabular-nums' }}>
            {price(total)}
          </Table.Th>
        </Table.Tr>
      </Table.Tfoot>
    </Table>
  );
}

/** Receipts have whole seconds. */
const describeSeconds = (seconds: number): string =>
  seconds === 0 ? `< ${formatDuration(1)}` : formatDuration(seconds);
