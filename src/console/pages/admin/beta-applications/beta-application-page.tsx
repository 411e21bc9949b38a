import { Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { adminDeleteBetaApplication, adminGetBetaApplication } from '../../../../contract/beta-applications.ts';
import { DeletePanel } from '../../../components/delete-button.tsx';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { Page, PageLoadingIndicator } from '../../../components/page.tsx';
import { DescriptionList, Panel } from '../../../components/panel.tsx';
import { MissingPermissionNote, useCanManageUser } from '../../../components/permissions.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteLink, UserOrChannelLink, useRouteId } from '../../../components/route-link.tsx';
import { dataQuery, type ResponseData } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { useUserNames } from '../../../data/names.ts';
import { DecisionButtons, StatusBadge } from './decision-buttons.tsx';

/** One beta application; target of the notification about it. */
export function AdminBetaApplicationPage() {
  const { t } = useTranslation('admin-beta-applications');
  const id = useRouteId();
  const application = useQuery(dataQuery(adminGetBetaApplication, { params: { id } }));
  if (application.data !== undefined) return <ApplicationDetails application={application.data} />;
  if (application.error === null) return <PageLoadingIndicator />;
  return (
    <Page title={t('one', { id })} subtitle={<RouteLink to="/admin/beta-applications">{t('all')}</RouteLink>} size="md">
      <ErrorAlert error={application.error} retry={() => void application.refetch()} />
    </Page>
  );
}

function ApplicationDetails({ application }: { readonly application: ResponseData<typeof adminGetBetaApplication> }) {
  const { t } = useTranslation('admin-beta-applications');
  const { id, feature, user_id: userId, decided_by: decidedBy, decided_time: decided } = application;
  const names = useUserNames(decidedBy === null ? [userId] : [userId, decidedBy]);
  const managed = useCanManageUser([userId])(userId);
  return (
    <Page
      title={feature}
      subtitle={<RouteLink to="/admin/beta-applications">{t('all')}</RouteLink>}
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
        <Panel title={t('one', { id })}>
          <DescriptionList
            facts={[
              [t('user'), <UserOrChannelLink key="user" to="users" id={userId} names={names} />],
              [t('asked'), <RelativeTime key="asked" at={application.created_time} />],
              [t('decided'), <RelativeTime key="decided" at={decided} />],
              [t('decidedBy'), <UserOrChannelLink key="by" to="users" id={decidedBy} names={names} />],
            ]}
          />
          <LabelledText title={t('reason')} text={application.reason} />
          {application.note === '' ? null : <LabelledText title={t('note')} text={application.note} />}
        </Panel>
        {managed ? <DeleteApplication id={id} /> : <MissingPermissionNote>{t('outOfRank')}</MissingPermissionNote>}
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
  const { t } = useTranslation('admin-beta-applications');
  return (
    <DeletePanel
      heading={t('remove')}
      title={t('removeTitle', { id })}
      text={t('removeText')}
      confirmLabel={t('remove')}
      remove={() => callApi(adminDeleteBetaApplication, { params: { id: String(id) } })}
      message={t('removed')}
      listPage="/admin/beta-applications"
    />
  );
}
