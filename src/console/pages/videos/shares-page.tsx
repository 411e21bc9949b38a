import { Anchor, Badge, Button, Group, Text } from '@mantine/core';
import { IconShare } from '@tabler/icons-react';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CopyIconButton } from '../../components/copy-button.tsx';
import { type Column, DataTable, useMemberColumn } from '../../components/data-table.tsx';
import { QueryError, toErrorMessage } from '../../components/error-alert.tsx';
import { EmptyState, Page, PageLoadingIndicator } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { VideoTile } from '../../components/video-player.tsx';
import { formatDeadline } from '../../data/format-values.ts';
import { endShare, type Share, sharesQuery } from '../../data/videos.ts';

const PAGE_SIZE = 20;

/** Share links of the account's videos. */
export function SharesPage() {
  const { t } = useTranslation(['studio', 'library']);
  const [page, setPage] = useState(1);
  const shares = useQuery({ ...sharesQuery(page, PAGE_SIZE), placeholderData: keepPreviousData });
  const total = shares.data?.total ?? 0;
  return (
    <Page
      title={t('library:share.links')}
      subtitle={
        <Anchor size="sm" renderRoot={(props) => <Link to="/videos" {...props} />}>
          {t('seeAll')}
        </Anchor>
      }
    >
      <QueryError query={shares} />
      {shares.data === undefined && shares.error === null ? <PageLoadingIndicator /> : null}
      {shares.data?.total === 0 ? (
        <EmptyState icon={<IconShare size={28} />} title={t('library:share.none')}>
          {t('library:share.noneText')}
        </EmptyState>
      ) : null}
      {shares.data === undefined || total === 0 ? null : <ShareTable shares={shares.data.data} withVideo />}
      <Pager page={page} total={total} pageSize={PAGE_SIZE} onChange={setPage} />
    </Page>
  );
}

interface ShareTableProps {
  readonly shares: readonly Share[];
  /** Adds a column with the video; false on the page of the video itself. */
  readonly withVideo: boolean;
}

/** Active share links, each with its expiry and a button to revoke it. */
export function ShareTable({ shares, withVideo }: ShareTableProps) {
  const { t } = useTranslation(['studio', 'library', 'app']);
  const queries = useQueryClient();
  const toasts = useToasts();
  const end = useMutation({
    mutationFn: endShare,
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['shares'] });
      toasts.success(t('library:share.ended'));
    },
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
  });
  const member = useMemberColumn<Share>((share) => share.created_by);
  const video: Column<Share> = {
    label: t('library:share.video'),
    cell: ({ task_id: taskId, prompt }) => (
      <Link to="/videos/$taskId" params={{ taskId }} className="relative mantine-focus-auto">
        <VideoTile taskId={taskId} isFinished />
        <Text span size="sm" lineClamp={2}>
          {prompt === '' ? t('noPrompt') : prompt}
        </Text>
      </Link>
    ),
  };
  return (
    <DataTable
      label={t('library:share.links')}
      rows={shares}
      rowKey={({ id }) => id}
      columns={[
        ...(withVideo ? [video] : []),
        {
          label: t('library:share.link'),
          cell: ({ url, title, has_password: hasPassword }) => (
            <>
              <Group gap={4} wrap="nowrap">
                <Anchor size="sm" href={url} target="_blank" rel="noreferrer" style={{ overflowWrap: 'anywhere' }}>
                  {url}
                </Anchor>
                <CopyIconButton text={url} label={t('library:share.copy')} />
              </Group>
              <Text size="xs" c="dimmed">
                {title}
              </Text>
              {hasPassword ? <Badge size="xs">{t('library:share.withPassword')}</Badge> : null}
            </>
          ),
        },
        ...member,
        {
          label: t('library:share.until'),
          cell: ({ expires_at: at }) => (at === null ? t('library:share.withVideo') : formatDeadline(at)),
        },
        {
          label: t('library:share.end'),
          hideLabel: true,
          align: 'right',
          cell: (share) => (
            <Button
              size="compact-sm"
              variant="subtle"
              color="red"
              loading={end.isPending && end.variables.id === share.id}
              onClick={() => end.mutate(share)}
            >
              {t('library:share.end')}
            </Button>
          ),
        },
      ]}
    />
  );
}
