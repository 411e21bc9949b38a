import { Badge, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CreditAmount } from '../../components/credit-amount.tsx';
import { type Column, useMemberColumn } from '../../components/data-table.tsx';
import { describeBrowser } from '../../components/describe-browser.ts';
import { ModelName } from '../../components/model-name.tsx';
import { OwnerLink, RouteLink, UserOrChannelLink } from '../../components/route-link.tsx';
import { useChannelNames, useUserNames } from '../../data/admin.ts';
import { formatCount, formatDateTime, formatMilliseconds, formatNames } from '../../data/format-values.ts';
import type { RequestEntry } from '../../data/requests.ts';

const COLORS = { ok: 'teal', failed: 'red', cancelled: 'gray' } as const;

/** Columns of the request log for all users. */
export function useRequestColumns(): {
  readonly first: readonly Column<RequestEntry>[];
  readonly last: readonly Column<RequestEntry>[];
} {
  const { t } = useTranslation('requests');
  const first: readonly Column<RequestEntry>[] = [
    { label: t('time'), cell: (row) => <ReceiptLink row={row} /> },
    { label: t('model'), cell: (row) => <ModelCell row={row} /> },
    { label: t('status'), cell: (row) => <StatusCell row={row} /> },
  ];
  const last: readonly Column<RequestEntry>[] = [
    { label: t('usage'), align: 'right', cell: (row) => <UsageCell row={row} /> },
    {
      label: t('firstToken'),
      align: 'right',
      cell: ({ first_token_ms: ms }) => <Duration ms={ms} />,
      hideOnPhone: true,
    },
    { label: t('duration'), align: 'right', cell: ({ duration_ms: ms }) => <Duration ms={ms} /> },
    { label: t('cost'), align: 'right', cell: ({ quota }) => <CreditAmount value={quota} /> },
  ];
  return { first, last };
}

/** Columns of a user's own request log. */
export function useOwnRequestColumns(): readonly Column<RequestEntry>[] {
  const { t } = useTranslation('requests');
  const { first, last } = useRequestColumns();
  const member = useMemberColumn<RequestEntry>((row) => row.submitted_by);
  return [...first, ...member, { label: t('apiKey'), cell: (row) => <KeyCell row={row} /> }, ...last];
}

/** Columns with account and channel. @param rows rows on the screen, to look up names of users */
export function useAdminRequestColumns(rows: readonly RequestEntry[]): readonly Column<RequestEntry>[] {
  const { t } = useTranslation('requests');
  const { first, last } = useRequestColumns();
  const users = useUserNames(rows.flatMap(({ user_id: id }) => id ?? []));
  const channels = useChannelNames();
  return [
    ...first,
    { label: t('user'), cell: (row) => <OwnerLink {...row} names={users} /> },
    {
      label: t('channel'),
      cell: ({ channel_id: id = 0 }) => <UserOrChannelLink to="channels" id={id === 0 ? null : id} names={channels} />,
    },
    { label: t('apiKey'), cell: (row) => <KeyCell row={row} />, hideOnPhone: true },
    ...last,
  ];
}

function ReceiptLink({ row }: { readonly row: RequestEntry }) {
  const { t } = useTranslation('requests');
  const moment = formatDateTime(row.time);
  return (
    <RouteLink
      to="/account/receipts/$id"
      params={{ id: row.ref }}
      size="sm"
      title={t('openReceipt')}
      aria-label={formatNames([moment, t('openReceipt')])}
      style={{ whiteSpace: 'nowrap', fontVariantNumeric: 'tabular-nums' }}
    >
      {moment}
    </RouteLink>
  );
}

function ModelCell({ row }: { readonly row: RequestEntry }) {
  const { t } = useTranslation('requests');
  const served = row.served_model;
  return (
    <>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        <ModelName id={row.model} />
      </Text>
      <Text size="xs" c="dimmed">
        {t(`kinds.${row.kind}`)}
        {row.stream ? ` · ${t('streamed')}` : ''}
        {served === undefined || served === '' || served === row.model ? '' : ` · → ${served}`}
      </Text>
    </>
  );
}

function StatusCell({ row }: { readonly row: RequestEntry }) {
  const { t } = useTranslation('requests');
  return (
    <>
      <Badge color={COLORS[row.status]}>{t(`statuses.${row.status}`)}</Badge>
      {row.error_code === '' ? null : (
        <Text size="xs" c="dimmed" title={row.error_code} style={{ overflowWrap: 'anywhere' }}>
          {t(`errors.${row.error_code as 'unknown'}`, { defaultValue: row.error_code.replaceAll('_', ' ') })}
        </Text>
      )}
    </>
  );
}

function KeyCell({ row }: { readonly row: RequestEntry }) {
  const { t } = useTranslation('requests');
  return (
    <>
      <Text size="sm" truncate maw={150} title={row.token_name}>
        {row.token_id === 0 ? t('console') : row.token_name || `#${row.token_id}`}
      </Text>
      <Text size="xs" c="dimmed" truncate maw={150} title={row.client}>
        {row.client.startsWith('Mozilla/') ? describeBrowser(row.client) : row.client}
      </Text>
    </>
  );
}

/** Input and output tokens; for videos their seconds. */
function UsageCell({ row }: { readonly row: RequestEntry }) {
  const { t } = useTranslation('requests');
  if (row.kind === 'video') return row.seconds === 0 ? '–' : t('seconds', { count: row.seconds });
  if (row.input_tokens === 0 && row.output_tokens === 0) return '–';
  return (
    <div style={{ whiteSpace: 'nowrap', fontVariantNumeric: 'tabular-nums' }}>
      <Text
        size="sm"
        component="span"
        aria-label={t('tokensOf', { input: row.input_tokens, output: row.output_tokens })}
      >
        {formatCount(row.input_tokens)} → {formatCount(row.output_tokens)}
      </Text>
      {row.cached_tokens === 0 ? null : (
        <Text size="xs" c="dimmed">
          {t('cached', { count: row.cached_tokens })}
        </Text>
      )}
    </div>
  );
}

const Duration = ({ ms }: { readonly ms: number | null }) => (
  <span style={{ whiteSpace: 'nowrap', fontVariantNumeric: 'tabular-nums' }}>
    {ms === null ? '–' : formatMilliseconds(ms)}
  </span>
);
