import { Badge, Button, Code, Group, Table, Text, VisuallyHidden } from '@mantine/core';
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
        <Table.ScrollContainer minWidth={720}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t('tokens.name')}</Table.Th>
                <Table.Th>{t('tokens.key')}</Table.Th>
                <Table.Th>{t('tokens.limit')}</Table.Th>
                <Table.Th>{t('tokens.expires')}</Table.Th>
                <Table.Th>{t('tokens.models')}</Table.Th>
                <Table.Th>{t('tokens.used')}</Table.Th>
                <Table.Th>
                  <VisuallyHidden>{t('shell:edit')}</VisuallyHidden>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {tokens.data.data.map((token) => (
                <Row key={token.id} token={token} onEdit={() => setDialog(token)} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      ) : null}
      <Pager page={page} total={tokens.data?.total ?? 0} pageSize={PAGE_SIZE} onChange={setPage} />
      {dialog === undefined ? null : <TokenDialog token={dialog} onClose={() => setDialog(undefined)} />}
    </Page>
  );
}

function Row({ token, onEdit }: { readonly token: TokenRow; readonly onEdit: () => void }) {
  const { t } = useTranslation(['account', 'shell']);
  const quota = useQuota();
  const queries = useQueryClient();
  const notices = useNotices();
  const expired = token.expires_at !== null && token.expires_at * 1000 < Date.now();
  const revoke = async (): Promise<void> => {
    await call(revokeToken, { params: { id: String(token.id) } });
    await queries.invalidateQueries({ queryKey: ['tokens'] });
    notices.done(t('account:tokens.revoked'));
  };
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm" fw={600} maw={220} truncate title={token.name}>
          {token.name}
        </Text>
      </Table.Td>
      <Table.Td>
        <Code>{token.key_hint}…</Code>
      </Table.Td>
      <Table.Td>
        {token.quota_limit === null
          ? t('account:tokens.noLimit')
          : t('account:tokens.ofLimit', { used: quota(token.quota_used), limit: quota(token.quota_limit) })}
      </Table.Td>
      <Table.Td>
        {token.expires_at === null ? t('account:tokens.never') : toDay(token.expires_at)}{' '}
        {expired ? <Badge color="red">{t('account:tokens.expired')}</Badge> : null}
      </Table.Td>
      <Table.Td>
        <Text size="sm" maw={200} truncate title={token.models.join(', ')}>
          {token.models.length === 0 ? t('account:tokens.allModels') : token.models.join(', ')}
        </Text>
      </Table.Td>
      <Table.Td>
        <Moment at={token.last_used_time} never={t('account:tokens.notUsed')} size="sm" />
      </Table.Td>
      <Table.Td>
        <Group gap={4} wrap="nowrap" justify="flex-end">
          <Button size="compact-sm" variant="subtle" color="gray" onClick={onEdit}>
            {t('shell:edit')}
          </Button>
          <Confirm
            title={t('account:tokens.revokeTitle', { name: token.name })}
            action={t('account:tokens.revoke')}
            onConfirm={revoke}
            trigger={(open) => (
              <Button size="compact-sm" variant="subtle" color="red" onClick={open}>
                {t('account:tokens.revoke')}
              </Button>
            )}
          >
            {t('account:tokens.revokeText')}
          </Confirm>
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}
