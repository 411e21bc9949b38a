import { Badge, Button, Card, Group, Skeleton, Stack, Text, Textarea, TextInput, Title } from '@mantine/core';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type ApplicationStatus, applyForBeta } from '../../../contract/beta-applications.ts';
import { FormDialog } from '../../components/dialog.tsx';
import { QueryError } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { useSaveAndClose } from '../../components/save-form.tsx';
import { useDraftText } from '../../components/tickets.tsx';
import {
  type BetaApplication,
  type BetaFeature,
  betaApplicationsQuery,
  betaFeaturesQuery,
  TICKETS_PAGE_SIZE,
} from '../../data/account-queries.ts';
import { callApi } from '../../data/api-client.ts';
import { formatLabelled } from '../../data/format-values.ts';

const STATUS_COLOR: Readonly<Record<ApplicationStatus, string>> = {
  pending: 'yellow',
  approved: 'teal',
  rejected: 'red',
};

/** The features in beta, each with a button to apply for it, and the account's applications. */
export function BetaApplicationsPage() {
  const { t } = useTranslation('support');
  const { feature: brought } = useSearch({ from: '/app/beta-applications' });
  const [page, setPage] = useState(1);
  const list = useQuery({ ...betaApplicationsQuery(page), placeholderData: keepPreviousData });
  const features = useQuery(betaFeaturesQuery);
  // An empty name lets the user type one that was announced elsewhere.
  const [applyingFor, setApplyingFor] = useState(brought);
  return (
    <Page
      title={t('betaTitle')}
      subtitle={t('betaLead')}
      size="md"
      actions={
        <Button variant="default" onClick={() => setApplyingFor('')}>
          {t('otherFeature')}
        </Button>
      }
    >
      <Stack gap="lg">
        <div>
          <Title order={2} mb="sm">
            {t('features')}
          </Title>
          <QueryError query={features} />
          {features.isLoading ? <Skeleton h={120} radius="lg" /> : null}
          {features.data?.length === 0 ? (
            <Text size="sm" c="dimmed">
              {t('noFeatures')}
            </Text>
          ) : null}
          <Stack gap="sm">
            {(features.data ?? []).map((feature) => (
              <FeatureCard
                key={feature.name}
                feature={feature}
                status={list.data?.data.find((row) => row.feature === feature.name)?.status}
                apply={() => setApplyingFor(feature.name)}
              />
            ))}
          </Stack>
        </div>
        <div>
          <Title order={2} mb="sm">
            {t('applications')}
          </Title>
          <QueryError query={list} />
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
          <Pager page={page} total={list.data?.total ?? 0} pageSize={TICKETS_PAGE_SIZE} onChange={setPage} />
        </div>
      </Stack>
      {applyingFor === undefined ? null : (
        <ApplicationDialog feature={applyingFor} onClose={() => setApplyingFor(undefined)} />
      )}
    </Page>
  );
}

interface FeatureCardProps {
  readonly feature: BetaFeature;
  /** State of the latest application for it. */
  readonly status: ApplicationStatus | undefined;
  readonly apply: () => void;
}

function FeatureCard({ feature: { name, description }, status, apply }: FeatureCardProps) {
  const { t } = useTranslation('support');
  return (
    <Card p="md" component="article" aria-label={name}>
      <Group justify="space-between" wrap="nowrap" align="center">
        <div style={{ minWidth: 0, overflowWrap: 'anywhere' }}>
          <Text fw={600} size="sm">
            {name}
          </Text>
          {description === '' ? null : (
            <Text size="sm" c="dimmed" mt={2}>
              {description}
            </Text>
          )}
        </div>
        {status === undefined || status === 'rejected' ? (
          <Button size="sm" style={{ flexShrink: 0 }} onClick={apply} aria-label={t('applyFor', { name })}>
            {t(status === undefined ? 'apply' : 'applyAgain')}
          </Button>
        ) : (
          <StatusBadge status={status} />
        )}
      </Group>
    </Card>
  );
}

/** Asks for the reason, and for the feature unless it is given. */
function ApplicationDialog({ feature: given, onClose }: { readonly feature: string; readonly onClose: () => void }) {
  const { t } = useTranslation('support');
  const queries = useQueryClient();
  const [feature, setFeature] = useState(given);
  const [reason, setReason] = useDraftText('beta');
  const apply = useSaveAndClose(
    async () => {
      await callApi(applyForBeta, { body: { feature: feature.trim(), reason } });
      setReason('');
      await queries.invalidateQueries({ queryKey: ['beta'] });
    },
    { onClose, message: t('applied') },
  );
  return (
    <FormDialog
      title={given === '' ? t('otherFeature') : t('applyFor', { name: given })}
      submitLabel={t('applyAction')}
      save={apply}
      onClose={onClose}
      disabled={feature.trim() === '' || reason.trim() === ''}
    >
      {given === '' ? (
        <TextInput
          label={t('feature')}
          placeholder={t('featurePlaceholder')}
          required
          maxLength={100}
          data-autofocus
          value={feature}
          onChange={(event) => setFeature(event.currentTarget.value)}
        />
      ) : null}
      <Textarea
        label={t('reason')}
        description={t('reasonHint')}
        required
        autosize
        minRows={3}
        maxRows={12}
        maxLength={2_000}
        data-autofocus={given === '' ? undefined : true}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
    </FormDialog>
  );
}

function StatusBadge({ status }: { readonly status: ApplicationStatus }) {
  const { t } = useTranslation('support');
  return (
    <Badge color={STATUS_COLOR[status]} style={{ flexShrink: 0 }}>
      {t(`decision.${status}`)}
    </Badge>
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
        <StatusBadge status={application.status} />
      </Group>
      <Text size="sm" c="dimmed" mt={4} lineClamp={4} style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
        {application.reason}
      </Text>
      {application.note === '' ? null : (
        <Text size="sm" mt="xs" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
          {formatLabelled(t('note'), application.note)}
        </Text>
      )}
      <Text size="xs" c="dimmed" mt="xs">
        <RelativeTime at={application.decided_time ?? application.created_time} />
      </Text>
    </Card>
  );
}
