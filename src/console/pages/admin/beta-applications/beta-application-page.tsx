import { Badge, Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { IconFlask } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  APPLICATION_SORTS,
  APPLICATION_STATUS,
  type ApplicationStatus,
  adminApproveBetaApplication,
  adminDeleteBetaApplication,
  adminGetBetaApplication,
  adminListBetaApplications,
  adminRejectBetaApplication,
} from '../../../../contract/beta-applications.ts';
import { PagedTable } from '../../../components/data-table.tsx';
import { DeletePanel } from '../../../components/delete-button.tsx';
import { FormDialog } from '../../../components/dialog.tsx';
import { QueryError } from '../../../components/error-alert.tsx';
import { ChoiceFilter, FilterBar, UserFilter } from '../../../components/list/filter-bar.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { EmptyState, Page, PageLoadingIndicator } from '../../../components/page.tsx';
import { DescriptionList, Panel } from '../../../components/panel.tsx';
import { MissingPermissionNote, useCanManageUser } from '../../../components/permissions.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteLink, UserOrChannelLink, useRouteId } from '../../../components/route-link.tsx';
import { useSaveAndClose } from '../../../components/save-form.tsx';
import { type BetaFeature, betaFeaturesQuery } from '../../../data/account-queries.ts';
import { dataQuery, type ListItem, listQuery, type ResponseData, useUserNames } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { useSelf } from '../../../data/self.ts';

/** One beta application; target of the notification about it. */
export function AdminBetaApplicationPage() {
  const { t } = useTranslation('support');
  const id = useRouteId();
  const application = useQuery(dataQuery(adminGetBetaApplication, { params: { id } }));
  if (application.data !== undefined) return <ApplicationDetails application={application.data} />;
  if (application.error === null) return <PageLoadingIndicator />;
  return (
    <Page
      title={t('beta.one', { id })}
      subtitle={<RouteLink to="/admin/beta-applications">{t('beta.all')}</RouteLink>}
      size="md"
    >
      <QueryError query={application} />
    </Page>
  );
}

function ApplicationDetails({ application }: { readonly application: ResponseData<typeof adminGetBetaApplication> }) {
  const { t } = useTranslation('support');
  const { id, feature, user_id: userId, decided_by: decidedBy, decided_time: decided } = application;
  const names = useUserNames(decidedBy === null ? [userId] : [userId, decidedBy]);
  const managed = useCanManageUser([userId])(userId);
  return (
    <Page
      title={feature}
      subtitle={<RouteLink to="/admin/beta-applications">{t('beta.all')}</RouteLink>}
      size="md"
      actions={
        application.status === 'pending' && managed ? (
          <DecisionButtons id={id} feature={feature} name={names(userId) ?? `#${userId}`} />
        ) : (
          <StatusBadge status={application.status} />
        )
      }
    >
      <Stack>
        <Panel title={t('beta.one', { id })}>
          <DescriptionList
            facts={[
              [t('beta.user'), <UserOrChannelLink key="user" to="users" id={userId} names={names} />],
              [t('beta.asked'), <RelativeTime key="asked" at={application.created_time} />],
              [t('beta.decided'), <RelativeTime key="decided" at={decided} />],
              [t('beta.decidedBy'), <UserOrChannelLink key="by" to="users" id={decidedBy} names={names} />],
            ]}
          />
          <LabelledText title={t('beta.reason')} text={application.reason} />
          {application.note === '' ? null : <LabelledText title={t('beta.note')} text={application.note} />}
        </Panel>
        {managed ? <DeleteApplication id={id} /> : <MissingPermissionNote>{t('beta.outOfRank')}</MissingPermissionNote>}
      </Stack>
    </Page>
  );
}

function LabelledText({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <>
      <Text size="xs" c="dimmed" mt="md">
        {title}
      </Text>
      <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {text}
      </Text>
    </>
  );
}

function DeleteApplication({ id }: { readonly id: number }) {
  const { t } = useTranslation('support');
  return (
    <DeletePanel
      heading={t('beta.remove')}
      title={t('beta.removeTitle', { id })}
      text={t('beta.removeText')}
      confirmLabel={t('beta.remove')}
      remove={() => callApi(adminDeleteBetaApplication, { params: { id: String(id) } })}
      message={t('beta.removed')}
      listPage="/admin/beta-applications"
    />
  );
}

/** Beta applications; pending ones can be decided from the list. */
export function AdminApplicationListPage() {
  const { t } = useTranslation(['support', 'app']);
  const filters = useListFilters(['status', 'feature', 'user_id'], APPLICATION_SORTS);
  const features = useQuery(betaFeaturesQuery);
  const applications = useQuery(listQuery(adminListBetaApplications, filters.query));
  const askers = applications.data?.data.map(({ user_id: id }) => id);
  const users = useUserNames(askers);
  const managed = useCanManageUser(askers);
  return (
    <Page title={t('app:pages.adminBeta')} subtitle={t('beta.lead')}>
      <OpenFeatures features={features.data} />
      <FilterBar filters={filters}>
        <ChoiceFilter
          filters={filters}
          name="status"
          label={t('beta.status')}
          choices={APPLICATION_STATUS.map((value) => ({ value, label: t(`beta.states.${value}`) }))}
        />
        <ChoiceFilter
          filters={filters}
          name="feature"
          label={t('beta.feature')}
          width={220}
          choices={toChoices([
            ...(features.data ?? []).map(({ name }) => name),
            ...(applications.data?.data ?? []).map(({ feature }) => feature),
            ...(filters.value.feature === undefined ? [] : [filters.value.feature]),
          ])}
        />
        <UserFilter filters={filters} />
      </FilterBar>
      <PagedTable
        label={t('app:pages.adminBeta')}
        query={applications}
        filters={filters}
        rowKey={({ id }) => id}
        emptyState={
          <EmptyState icon={<IconFlask size={28} />} title={t('beta.emptyTitle')}>
            {t('beta.emptyText')}
          </EmptyState>
        }
        columns={[
          {
            label: t('beta.feature'),
            sortKey: 'feature',
            cell: (application) => <Feature application={application} />,
          },
          { label: t('beta.user'), cell: ({ user_id: id }) => <UserOrChannelLink to="users" id={id} names={users} /> },
          {
            label: t('beta.asked'),
            sortKey: 'created',
            cell: ({ created_time: at }) => <RelativeTime at={at} size="sm" />,
          },
          {
            label: t('beta.status'),
            cell: ({ id, feature, status, user_id: userId }) =>
              status === 'pending' && managed(userId) ? (
                <Group gap="xs" justify="flex-start">
                  <DecisionButtons id={id} feature={feature} name={users(userId) ?? `#${userId}`} />
                </Group>
              ) : (
                <StatusBadge status={status} />
              ),
          },
        ]}
      />
    </Page>
  );
}

interface FeatureProps {
  readonly application: ListItem<typeof adminListBetaApplications>;
}

/** The feature someone asked for, and the reason. */
function Feature({ application: { id, feature, reason } }: FeatureProps) {
  return (
    <div style={{ maxWidth: 420 }}>
      <RouteLink
        to="/admin/beta-applications/$id"
        params={{ id: String(id) }}
        fw={600}
        size="sm"
        style={{ overflowWrap: 'anywhere' }}
      >
        {feature}
      </RouteLink>
      <Text size="xs" c="dimmed" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
        {reason}
      </Text>
    </div>
  );
}

const toChoices = (names: readonly string[]) => [...new Set(names)].map((value) => ({ value, label: value }));

/** What users can apply for; root edits the list in the settings. */
function OpenFeatures({ features }: { readonly features: readonly BetaFeature[] | undefined }) {
  const { t } = useTranslation('support');
  const { data: self } = useSelf();
  if (features === undefined) return null;
  return (
    <Group gap="xs" mb="md">
      <Text size="sm" c="dimmed">
        {t(features.length === 0 ? 'beta.noFeatures' : 'beta.features')}
      </Text>
      {features.map(({ name, description }) => (
        <Badge key={name} color="gray" title={description} className="verbatim">
          {name}
        </Badge>
      ))}
      {self?.role === 'root' ? (
        <RouteLink to="/admin/settings" size="sm">
          {t('beta.editFeatures')}
        </RouteLink>
      ) : null}
    </Group>
  );
}

interface DecisionButtonsProps {
  readonly id: number;
  readonly feature: string;
  readonly name: string;
}
type Decision = 'approve' | 'reject';

/** Buttons to approve or reject; each asks for a message to the applicant first. */
function DecisionButtons(application: DecisionButtonsProps) {
  const { t } = useTranslation('support');
  const [decision, setDecision] = useState<Decision>();
  return (
    <>
      <Button size="compact-sm" onClick={() => setDecision('approve')}>
        {t('beta.approve')}
      </Button>
      <Button size="compact-sm" variant="default" onClick={() => setDecision('reject')}>
        {t('beta.reject')}
      </Button>
      {decision === undefined ? null : (
        <DecisionDialog {...application} decision={decision} onClose={() => setDecision(undefined)} />
      )}
    </>
  );
}

interface DecisionDialogProps extends DecisionButtonsProps {
  readonly decision: Decision;
  readonly onClose: () => void;
}

function DecisionDialog({ id, feature, name, decision, onClose }: DecisionDialogProps) {
  const { t } = useTranslation('support');
  const [note, setNote] = useState('');
  const decide = useSaveAndClose(
    () =>
      callApi(decision === 'approve' ? adminApproveBetaApplication : adminRejectBetaApplication, {
        params: { id: String(id) },
        body: { note: note.trim() },
      }),
    { onClose, message: t(decision === 'approve' ? 'beta.approved' : 'beta.rejected') },
  );
  return (
    <FormDialog
      title={t(`beta.${decision}Title`, { feature, name })}
      submitLabel={t(`beta.${decision}`)}
      save={decide}
      onClose={onClose}
    >
      <Textarea
        label={t('beta.note')}
        description={t('beta.noteHint')}
        autosize
        minRows={3}
        maxRows={10}
        maxLength={2_000}
        data-autofocus
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
    </FormDialog>
  );
}

const STATUS_COLOR: Readonly<Record<ApplicationStatus, string>> = {
  pending: 'yellow',
  approved: 'teal',
  rejected: 'red',
};

/** Badge with the status of a beta application. */
function StatusBadge({ status }: { readonly status: ApplicationStatus }) {
  const { t } = useTranslation('support');
  return <Badge color={STATUS_COLOR[status]}>{t(`beta.states.${status}`)}</Badge>;
}
