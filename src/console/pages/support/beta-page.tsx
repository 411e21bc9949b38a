import { Badge, Button, Card, Group, Skeleton, Stack, Text, Textarea, TextInput, Title } from '@mantine/core';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type ApplicationStatus, applyForBeta } from '../../../contract/beta-applications.ts';
import { call } from '../../data/client.ts';
import { type BetaRow, betaQuery, PAGE_SIZE } from '../../data/support.ts';
import { Failure } from '../../parts/failure.tsx';
import { Moment } from '../../parts/moment.tsx';
import { useNotices } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Pager } from '../../parts/pager.tsx';
import { Section } from '../../parts/section.tsx';
import { useDraftText } from '../../parts/use-draft-text.ts';

const COLOR: Readonly<Record<ApplicationStatus, string>> = { pending: 'yellow', approved: 'teal', rejected: 'red' };

/** Asks for features that are not for everybody yet, and what became of it. */
export function BetaPage() {
  const { t } = useTranslation('support');
  const [page, setPage] = useState(1);
  const list = useQuery({ ...betaQuery(page), placeholderData: keepPreviousData });
  return (
    <Page title={t('betaTitle')} lead={t('betaLead')} size="md">
      <Stack gap="lg">
        <Apply />
        <div>
          <Title order={2} mb="sm">
            {t('applications')}
          </Title>
          <Failure error={list.error} retry={() => void list.refetch()} />
          {list.data === undefined && list.error === null ? <Skeleton h={120} radius="lg" /> : null}
          {list.data?.total === 0 ? (
            <Text size="sm" c="dimmed">
              {t('noApplications')}
            </Text>
          ) : null}
          <Stack gap="sm">
            {(list.data?.data ?? []).map((row) => (
              <Application key={row.id} row={row} />
            ))}
          </Stack>
          <Pager page={page} total={list.data?.total ?? 0} pageSize={PAGE_SIZE} onChange={setPage} />
        </div>
      </Stack>
    </Page>
  );
}

function Apply() {
  const { t } = useTranslation('support');
  const queries = useQueryClient();
  const notices = useNotices();
  const { feature: brought = '' } = useSearch({ from: '/app/beta-applications' });
  const [feature, setFeature] = useState(brought);
  const [reason, setReason] = useDraftText('beta');
  const apply = useMutation({
    mutationFn: () => call(applyForBeta, { body: { feature: feature.trim(), reason } }),
    onSuccess: async () => {
      setFeature('');
      setReason('');
      notices.done(t('applied'));
      await queries.invalidateQueries({ queryKey: ['beta'] });
    },
  });
  return (
    <Section title={t('apply')} lead={t('applyLead')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          apply.mutate();
        }}
      >
        <Stack maw={560}>
          <TextInput
            label={t('feature')}
            placeholder={t('featurePlaceholder')}
            required
            maxLength={100}
            value={feature}
            onChange={(event) => setFeature(event.currentTarget.value)}
          />
          <Textarea
            label={t('reason')}
            description={t('reasonHint')}
            required
            autosize
            minRows={3}
            maxRows={12}
            maxLength={2_000}
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
          />
          <Failure error={apply.error} />
          <Group>
            <Button type="submit" loading={apply.isPending} disabled={feature.trim() === '' || reason.trim() === ''}>
              {t('applyAction')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

function Application({ row }: { readonly row: BetaRow }) {
  const { t } = useTranslation('support');
  return (
    <Card p="md" component="article" aria-label={row.feature}>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Text fw={600} size="sm" style={{ overflowWrap: 'anywhere' }}>
          {row.feature}
        </Text>
        <Badge color={COLOR[row.status]} style={{ flexShrink: 0 }}>
          {t(`decision.${row.status}`)}
        </Badge>
      </Group>
      <Text size="sm" c="dimmed" mt={4} lineClamp={4} style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
        {row.reason}
      </Text>
      {row.note === '' ? null : (
        <Text size="sm" mt="xs" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
          {t('note')}: {row.note}
        </Text>
      )}
      <Text size="xs" c="dimmed" mt="xs">
        <Moment at={row.decided_time ?? row.created_time} />
      </Text>
    </Card>
  );
}
