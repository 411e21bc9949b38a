import { Badge, Button, Card, Group, Skeleton, Stack, Text, Textarea, TextInput, Title } from '@mantine/core';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type ApplicationStatus, applyForBeta } from '../../../contract/beta-applications.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { SettingsSection } from '../../components/panel.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { useDraftText } from '../../components/tickets.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { callApi } from '../../data/api-client.ts';
import { type BetaApplication, betaApplicationsQuery, PAGE_SIZE } from '../../data/tickets.ts';

const STATUS_COLOR: Readonly<Record<ApplicationStatus, string>> = {
  pending: 'yellow',
  approved: 'teal',
  rejected: 'red',
};

/** Applies for beta features, and shows the state of the user's applications. */
export function BetaApplicationsPage() {
  const { t } = useTranslation('support');
  const [page, setPage] = useState(1);
  const list = useQuery({ ...betaApplicationsQuery(page), placeholderData: keepPreviousData });
  return (
    <Page title={t('betaTitle')} subtitle={t('betaLead')} size="md">
      <Stack gap="lg">
        <ApplicationForm />
        <div>
          <Title order={2} mb="sm">
            {t('applications')}
          </Title>
          <ErrorAlert error={list.error} retry={() => void list.refetch()} />
          {list.data === undefined && list.error === null ? <Skeleton h={120} radius="lg" /> : null}
          {list.data?.total === 0 ? (
            <Text size="sm" c="dimmed">
              {t('noApplications')}
            </Text>
          ) : null}
          <Stack gap="sm">
            {(list.data?.data ?? []).map((row) => (
              <ApplicationCard key={row.id} row={row} />
            ))}
          </Stack>
          <Pager page={page} total={list.data?.total ?? 0} pageSize={PAGE_SIZE} onChange={setPage} />
        </div>
      </Stack>
    </Page>
  );
}

function ApplicationForm() {
  const { t } = useTranslation('support');
  const queries = useQueryClient();
  const toasts = useToasts();
  const { feature: brought = '' } = useSearch({ from: '/app/beta-applications' });
  const [feature, setFeature] = useState(brought);
  const [reason, setReason] = useDraftText('beta');
  const apply = useMutation({
    mutationFn: () => callApi(applyForBeta, { body: { feature: feature.trim(), reason } }),
    onSuccess: async () => {
      setFeature('');
      setReason('');
      toasts.success(t('applied'));
      await queries.invalidateQueries({ queryKey: ['beta'] });
    },
  });
  return (
    <SettingsSection title={t('apply')} subtitle={t('applyLead')}>
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
          <ErrorAlert error={apply.error} />
          <Group>
            <Button type="submit" loading={apply.isPending} disabled={feature.trim() === '' || reason.trim() === ''}>
              {t('applyAction')}
            </Button>
          </Group>
        </Stack>
      </form>
    </SettingsSection>
  );
}

function ApplicationCard({ row: application }: { readonly row: BetaApplication }) {
  const { t } = useTranslation('support');
  return (
    <Card p="md" component="article" aria-label={application.feature}>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Text fw={600} size="sm" style={{ overflowWrap: 'anywhere' }}>
          {application.feature}
        </Text>
        <Badge color={STATUS_COLOR[application.status]} style={{ flexShrink: 0 }}>
          {t(`decision.${application.status}`)}
        </Badge>
      </Group>
      <Text size="sm" c="dimmed" mt={4} lineClamp={4} style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
        {application.reason}
      </Text>
      {application.note === '' ? null : (
        <Text size="sm" mt="xs" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
          {t('note')}: {application.note}
        </Text>
      )}
      <Text size="xs" c="dimmed" mt="xs">
        <RelativeTime at={application.decided_time ?? application.created_time} />
      </Text>
    </Card>
  );
}
