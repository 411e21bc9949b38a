import { Badge, Button, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { type listReconciledAccounts, reconcileChannel } from '../../../../contract/reconciliation.ts';
import { DataTable } from '../../../components/data-table.tsx';
import { toErrorMessage } from '../../../components/error-alert.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { callApi } from '../../../data/api-client.ts';
import { type ResponseData, useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';
import { useFormatVendorUnits } from './use-format-vendor-units.ts';

type Account = ResponseData<typeof listReconciledAccounts>[number];

/** Accounts whose vendor reports what it charged: when they were read, and whether a day's figures agree. */
export function VendorAccountTable({ accounts }: { readonly accounts: readonly Account[] | undefined }) {
  const { t } = useTranslation('reconciliation');
  const units = useFormatVendorUnits();
  return (
    <DataTable
      label={t('accounts')}
      rows={accounts}
      rowKey={({ channel_id: id }) => id}
      columns={[
        { label: t('channel'), cell: (account) => <ChannelLink account={account} /> },
        { label: t('lastRead'), cell: (account) => <LastRead account={account} /> },
        {
          label: t('settled'),
          align: 'right',
          cell: ({ judged, unit }) => (judged === null ? '–' : units(judged.settled_units, unit)),
        },
        {
          label: t('billed'),
          align: 'right',
          cell: ({ judged, unit }) => (judged === null ? '–' : units(judged.billed_units, unit)),
        },
        { label: t('result'), cell: (account) => <Result account={account} /> },
        { label: t('readNow'), hideLabel: true, align: 'right', cell: (account) => <ReadNow account={account} /> },
      ]}
    />
  );
}

function ChannelLink({ account }: { readonly account: Account }) {
  return (
    <>
      <RouteLink to="/admin/channels/$id" params={{ id: String(account.channel_id) }} fw={600} size="sm">
        {account.channel_name}
      </RouteLink>
      <Text size="xs" c="dimmed">
        {account.vendor}
      </Text>
    </>
  );
}

function LastRead({ account: { read_at: readAt, error } }: { readonly account: Account }) {
  const { t } = useTranslation('reconciliation');
  return (
    <Stack gap={2}>
      <RelativeTime at={readAt} never={t('never')} size="sm" />
      {error === '' ? null : (
        <Text size="xs" c="red" style={{ overflowWrap: 'anywhere' }}>
          {t('failed')}: {error}
        </Text>
      )}
    </Stack>
  );
}

function Result({ account: { judged, unit, skew_seconds: skew } }: { readonly account: Account }) {
  const { t } = useTranslation('reconciliation');
  const units = useFormatVendorUnits();
  if (judged === null) return <Badge color="gray">{t('tooFew')}</Badge>;
  const { unexplained_units: unexplained } = judged;
  return (
    <Badge
      color={unexplained === 0 ? 'teal' : 'red'}
      title={skew === 0 ? undefined : t('skew', { count: Math.round(skew / 3_600) })}
    >
      {unexplained === 0 ? t('agrees') : t('unexplained', { units: units(unexplained, unit) })}
    </Badge>
  );
}

function ReadNow({ account: { channel_id: id, channel_name: name } }: { readonly account: Account }) {
  const { t } = useTranslation(['reconciliation', 'app']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const read = useMutation({
    mutationFn: () => callApi(reconcileChannel, { params: { id: String(id) } }),
    onSuccess: () => toasts.success(t('wasRead', { name })),
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
    onSettled: invalidate,
  });
  return (
    <Button
      variant="default"
      size="xs"
      loading={read.isPending}
      aria-label={t('readNowOf', { name })}
      onClick={() => read.mutate()}
    >
      {t('readNow')}
    </Button>
  );
}
