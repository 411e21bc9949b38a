import { Badge, Button, Code, Group, Text } from '@mantine/core';
import { IconKey, IconPlus } from '@tabler/icons-react';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { revokeToken } from '../../../contract/tokens.ts';
import { call } from '../../data/client.ts';
import { toDay } from '../../data/time.ts';
import { PAGE_SIZE, type TokenRow, tokensQuery } from '../../data/tokens.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Moment } from '../../parts/moment.tsx';
import { useNotices } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { PageLoader } from '../../parts/page-loader.tsx';
import { Pager } from '../../parts/pager.tsx';
import { useQuota } from '../../parts/quota.tsx';
import { RecordTable } from '../../parts/record-table.tsx';
import { TokenDialog } from './token-dialog.tsx';

export function TokensPage() {
  const { t } = useTranslation(['account', 'shell']);
  const [page, setPage] = useState(1);
  const [dialog, setDialog] = useState<TokenRow | 'new'>();
  const tokens = useQuery({ ...tokensQuery(page), placeholderData: keepPreviousData });
  const make = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setDialog('new')}>
      {t('tokens.make')}
    </Button>
  );
  return (
    <Page title={t('tokens.title')} lead={t('tokens.lead')} actions={make}>
      <Failure error={tokens.error} retry={() => void tokens.refetch()} />
      {tokens.data === undefined && tokens.error === null ? <PageLoader /> : null}
      {tokens.data?.total === 0 ? (
        <Empty icon={<IconKey size={28} />} title={t('tokens.emptyTitle')} action={make}>
          {t('tokens.emptyText')}
        </Empty>
      ) : null}
      {tokens.data !== undefined && tokens.data.total > 0 ? (
        <RecordTable
          label={t('tokens.title')}
          rows={tokens.data.data}
          keyOf={({ id }) => id}
          columns={[
            {
              label: t('tokens.name'),
              cell: ({ name }) => (
                <Text size="sm" fw={600} maw={220} truncate title={name}>
                  {name}
                </Text>
              ),
            },
            { label: t('tokens.key'), cell: ({ key_hint: hint }) => <Code>{hint}…</Code> },
            { label: t('tokens.limit'), cell: (token) => <Limit token={token} /> },
            { label: t('tokens.expires'), cell: (token) => <End token={token} /> },
            {
              label: t('tokens.models'),
              cell: ({ models }) => (
                <Text size="sm" maw={200} truncate title={models.join(', ')}>
                  {models.length === 0 ? t('tokens.allModels') : models.join(', ')}
                </Text>
              ),
            },
            {
              label: t('tokens.used'),
              cell: ({ last_used_time: at }) => <Moment at={at} never={t('tokens.notUsed')} size="sm" />,
            },
            {
              label: t('shell:edit'),
              quiet: true,
              align: 'right',
              cell: (token) => <Actions token={token} onEdit={() => setDialog(token)} />,
            },
          ]}
        />
      ) : null}
      <Pager page={page} total={tokens.data?.total ?? 0} pageSize={PAGE_SIZE} onChange={setPage} />
      {dialog === undefined ? null : <TokenDialog token={dialog} onClose={() => setDialog(undefined)} />}
    </Page>
  );
}

function Limit({ token: { quota_limit: limit, quota_used: used } }: { readonly token: TokenRow }) {
  const { t } = useTranslation('account');
  const quota = useQuota();
  return limit === null ? t('tokens.noLimit') : t('tokens.ofLimit', { used: quota(used), limit: quota(limit) });
}

function End({ token: { expires_at: at } }: { readonly token: TokenRow }) {
  const { t } = useTranslation('account');
  if (at === null) return t('tokens.never');
  return (
    <>
      {toDay(at)} {at * 1000 < Date.now() ? <Badge color="red">{t('tokens.expired')}</Badge> : null}
    </>
  );
}

function Actions({ token, onEdit }: { readonly token: TokenRow; readonly onEdit: () => void }) {
  const { t } = useTranslation(['account', 'shell']);
  const queries = useQueryClient();
  const notices = useNotices();
  const revoke = async (): Promise<void> => {
    await call(revokeToken, { params: { id: String(token.id) } });
    await queries.invalidateQueries({ queryKey: ['tokens'] });
    notices.done(t('tokens.revoked'));
  };
  return (
    <Group gap={4} wrap="nowrap" justify="flex-end">
      <Button size="compact-sm" variant="subtle" color="gray" onClick={onEdit}>
        {t('shell:edit')}
      </Button>
      <Confirm
        title={t('tokens.revokeTitle', { name: token.name })}
        action={t('tokens.revoke')}
        onConfirm={revoke}
        trigger={(open) => (
          <Button size="compact-sm" variant="subtle" color="red" onClick={open}>
            {t('tokens.revoke')}
          </Button>
        )}
      >
        {t('tokens.revokeText')}
      </Confirm>
    </Group>
  );
}
