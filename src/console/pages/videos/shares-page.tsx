import { Anchor } from '@mantine/core';
import { IconShare } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { EmptyState, Page, PageLoadingIndicator } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { sharesQuery } from '../../data/shares.ts';
import { ShareTable } from './share-table.tsx';

const PAGE_SIZE = 20;

/** Share links of the account's videos. */
export function SharesPage() {
  const { t } = useTranslation('studio');
  const [page, setPage] = useState(1);
  const shares = useQuery({ ...sharesQuery(page, PAGE_SIZE), placeholderData: keepPreviousData });
  const total = shares.data?.total ?? 0;
  return (
    <Page
      title={t('share.links')}
      subtitle={
        <Anchor size="sm" renderRoot={(props) => <Link to="/videos" {...props} />}>
          {t('seeAll')}
        </Anchor>
      }
    >
      <ErrorAlert error={shares.error} retry={() => void shares.refetch()} />
      {shares.data === undefined && shares.error === null ? <PageLoadingIndicator /> : null}
      {shares.data?.total === 0 ? (
        <EmptyState icon={<IconShare size={28} />} title={t('share.none')}>
          {t('share.noneText')}
        </EmptyState>
      ) : null}
      {shares.data === undefined || total === 0 ? null : <ShareTable shares={shares.data.data} withVideo />}
      <Pager page={page} total={total} pageSize={PAGE_SIZE} onChange={setPage} />
    </Page>
  );
}
