import { Anchor, Badge, Button, Text } from '@mantine/core';
import { IconPlus, IconWebhook } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DataTable } from '../../components/data-table.tsx';
import { QueryError } from '../../components/error-alert.tsx';
import { useListFilters } from '../../components/list/use-list-filters.ts';
import { EmptyState, Page, PageLoadingIndicator } from '../../components/page.tsx';
import { type Webhook, webhooksQuery } from '../../data/account-queries.ts';
import { formatNames } from '../../data/format-values.ts';
import { WebhookDialog } from './webhook-dialog.tsx';

/** The webhooks of the account. */
export function WebhookListPage() {
  const { t } = useTranslation('account');
  const [isAdding, setIsAdding] = useState(false);
  const filters = useListFilters([]);
  const webhooks = useQuery(webhooksQuery);
  const add = (
    <Button data-create leftSection={<IconPlus size={16} />} onClick={() => setIsAdding(true)}>
      {t('webhooks.add')}
    </Button>
  );
  return (
    <Page
      title={t('webhooks.title')}
      subtitle={t('webhooks.lead')}
      actions={webhooks.data?.total === 0 ? undefined : add}
    >
      <QueryError query={webhooks} />
      {webhooks.data === undefined && webhooks.error === null ? <PageLoadingIndicator /> : null}
      {webhooks.data?.total === 0 ? (
        <EmptyState icon={<IconWebhook size={28} />} title={t('webhooks.emptyTitle')} action={add}>
          {t('webhooks.emptyText')}
        </EmptyState>
      ) : null}
      {webhooks.data !== undefined && webhooks.data.total > 0 ? (
        <DataTable
          label={t('webhooks.title')}
          rows={webhooks.data.data}
          rowKey={({ id }) => id}
          sort={filters.sort}
          onSort={filters.setSort}
          columns={[
            {
              label: t('webhooks.url'),
              sortKey: 'url',
              sortValue: ({ url }) => url,
              cell: ({ id, url, description }) => (
                <>
                  <Anchor
                    size="sm"
                    fw={600}
                    style={{ overflowWrap: 'anywhere' }}
                    renderRoot={(props) => <Link to="/account/webhooks/$id" params={{ id: String(id) }} {...props} />}
                  >
                    {url}
                  </Anchor>
                  <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                    {description}
                  </Text>
                </>
              ),
            },
            {
              label: t('webhooks.events'),
              cell: ({ events }) => (events.length === 0 ? t('webhooks.allEvents') : formatNames(events)),
            },
            { label: t('webhooks.state'), cell: (webhook) => <WebhookState webhook={webhook} /> },
            {
              label: t('webhooks.waiting'),
              sortKey: 'pending',
              sortValue: ({ pending }) => pending,
              align: 'right',
              cell: ({ pending }) => pending,
            },
          ]}
        />
      ) : null}
      {isAdding ? <WebhookDialog webhook={undefined} onClose={() => setIsAdding(false)} /> : null}
    </Page>
  );
}

/** Badge with the state of a webhook. */
export function WebhookState({ webhook }: { readonly webhook: Webhook }) {
  const { t } = useTranslation('account');
  if (!webhook.enabled)
    return <Badge color="gray">{t(`webhooks.disabled.${webhook.disabled_reason || 'byOwner'}` as const)}</Badge>;
  return webhook.failing_since === null ? (
    <Badge color="teal">{t('webhooks.works')}</Badge>
  ) : (
    <Badge color="red">{t('webhooks.fails')}</Badge>
  );
}
