import { Badge, Button, Code, Group, Text } from '@mantine/core';
import { IconKey, IconPlus } from '@tabler/icons-react';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { revokeToken, TOKEN_SORTS } from '../../../contract/api-tokens.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { BulkBar } from '../../components/list/bulk-bar.tsx';
import { useListFilters } from '../../components/list/use-list-filters.ts';
import { type RowSelection, useRowSelection } from '../../components/list/use-row-selection.ts';
import { Page } from '../../components/page.tsx';
import { PageLoadingIndicator } from '../../components/page-loading-indicator.tsx';
import { Pager } from '../../components/pager.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { RouteLink } from '../../components/route-link.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { useFormatCredits } from '../../components/use-format-credits.ts';
import { callApi } from '../../data/api-client.ts';
import { type ApiKey, apiKeysQuery, PAGE_SIZE } from '../../data/api-key-queries.ts';
import { formatDate } from '../../data/format-times-and-durations.ts';
import { ApiKeyDialog } from './api-key-dialog.tsx';
import { ConnectDialog } from './connect-clients/connect-dialog.tsx';

export function ApiKeyListPage() {
  const { t } = useTranslation(['account', 'app']);
  const filters = useListFilters([], TOKEN_SORTS);
  const { page } = filters;
  const selection = useRowSelection<ApiKey>(({ id }) => id);
  const [dialog, setDialog] = useState<ApiKey | 'new'>();
  const [connected, setConnected] = useState<ApiKey>();
  const tokens = useQuery({ ...apiKeysQuery(page, filters.query.sort), placeholderData: keepPreviousData });
  const make = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setDialog('new')}>
      {t('apiKeys.make')}
    </Button>
  );
  return (
    <Page title={t('apiKeys.title')} subtitle={t('apiKeys.lead')} actions={make}>
      <ErrorAlert error={tokens.error} retry={() => void tokens.refetch()} />
      {tokens.data === undefined && tokens.error === null ? <PageLoadingIndicator /> : null}
      {tokens.data?.total === 0 ? (
        <EmptyState icon={<IconKey size={28} />} title={t('apiKeys.emptyTitle')} action={make}>
          {t('apiKeys.emptyText')}
        </EmptyState>
      ) : null}
      {tokens.data !== undefined && tokens.data.total > 0 ? (
        <DataTable
          label={t('apiKeys.title')}
          rows={tokens.data.data}
          rowKey={({ id }) => id}
          stale={tokens.isPlaceholderData}
          sort={filters.sort}
          onSort={filters.setSort}
          selection={selection}
          columns={[
            {
              label: t('apiKeys.name'),
              sortKey: 'name',
              cell: (token) => <ApiKeyName token={token} />,
            },
            {
              label: t('apiKeys.key'),
              cell: ({ key_hint: hint }) => <Code style={{ whiteSpace: 'nowrap' }}>{hint}…</Code>,
            },
            { label: t('apiKeys.limit'), cell: (token) => <SpendingLimit token={token} /> },
            { label: t('apiKeys.expires'), sortKey: 'expires', cell: (token) => <Expiry token={token} /> },
            {
              label: t('apiKeys.models'),
              cell: ({ models }) => (
                <Text size="sm" maw={200} truncate title={models.join(', ')}>
                  {models.length === 0 ? t('apiKeys.allModels') : models.join(', ')}
                </Text>
              ),
            },
            {
              label: t('apiKeys.used'),
              sortKey: 'used',
              cell: ({ last_used_time: at }) => <RelativeTime at={at} never={t('apiKeys.notUsed')} size="sm" />,
            },
            {
              label: t('app:edit'),
              hideLabel: true,
              align: 'right',
              cell: (token) => (
                <ApiKeyActions token={token} onConnect={() => setConnected(token)} onEdit={() => setDialog(token)} />
              ),
            },
          ]}
        />
      ) : null}
      <Pager page={page} total={tokens.data?.total ?? 0} pageSize={PAGE_SIZE} onChange={filters.setPage} />
      <ApiKeyBulkBar selection={selection} />
      {/* Their texts come when one is first opened; the page stays meanwhile. */}
      <Suspense>
        {connected === undefined ? null : (
          <ConnectDialog apiKey={connected} page={page} onClose={() => setConnected(undefined)} />
        )}
        {dialog === undefined ? null : <ApiKeyDialog apiKey={dialog} onClose={() => setDialog(undefined)} />}
      </Suspense>
    </Page>
  );
}

/** What can be done with several at once. */
function ApiKeyBulkBar({ selection }: { readonly selection: RowSelection<ApiKey> }) {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  return (
    <BulkBar
      selection={selection}
      nameOf={({ name }) => name}
      onDone={() => queries.invalidateQueries({ queryKey: ['tokens'] })}
      actions={[
        {
          id: 'revoke',
          label: t('apiKeys.revoke'),
          text: t('apiKeys.revokeText'),
          run: ({ id }) => callApi(revokeToken, { params: { id: String(id) } }),
          isDangerous: true,
        },
      ]}
    />
  );
}

function ApiKeyName({ token: { id, name } }: { readonly token: ApiKey }) {
  return (
    <RouteLink
      to="/account/tokens/$id"
      params={{ id: String(id) }}
      size="sm"
      fw={600}
      maw={220}
      truncate
      display="inline-block"
      title={name}
    >
      {name}
    </RouteLink>
  );
}

function SpendingLimit({ token: { quota_limit: limit, quota_used: used } }: { readonly token: ApiKey }) {
  const { t } = useTranslation('account');
  const quota = useFormatCredits();
  return limit === null ? t('apiKeys.noLimit') : t('apiKeys.ofLimit', { used: quota(used), limit: quota(limit) });
}

function Expiry({ token: { expires_at: at } }: { readonly token: ApiKey }) {
  const { t } = useTranslation('account');
  if (at === null) return t('apiKeys.never');
  return (
    <>
      {formatDate(at)} {at * 1000 < Date.now() ? <Badge color="red">{t('apiKeys.expired')}</Badge> : null}
    </>
  );
}

interface ApiKeyActionsProps {
  readonly token: ApiKey;
  readonly onConnect: () => void;
  readonly onEdit: () => void;
}

function ApiKeyActions({ token, onConnect, onEdit }: ApiKeyActionsProps) {
  const { t } = useTranslation(['account', 'app', 'connect-clients']);
  const queries = useQueryClient();
  const toasts = useToasts();
  const revoke = async (): Promise<void> => {
    await callApi(revokeToken, { params: { id: String(token.id) } });
    await queries.invalidateQueries({ queryKey: ['tokens'] });
    toasts.success(t('apiKeys.revoked'));
  };
  return (
    <Group gap={4} wrap="nowrap" justify="flex-end">
      <Button size="compact-sm" variant="subtle" onClick={onConnect}>
        {t('connect-clients:connect')}
      </Button>
      <Button size="compact-sm" variant="subtle" color="gray" onClick={onEdit}>
        {t('app:edit')}
      </Button>
      <ConfirmDialog
        title={t('apiKeys.revokeTitle', { name: token.name })}
        confirmLabel={t('apiKeys.revoke')}
        onConfirm={revoke}
        trigger={(open) => (
          <Button size="compact-sm" variant="subtle" color="red" onClick={open}>
            {t('apiKeys.revoke')}
          </Button>
        )}
      >
        {t('apiKeys.revokeText')}
      </ConfirmDialog>
    </Group>
  );
}
