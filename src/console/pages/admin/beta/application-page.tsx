import { Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { adminGetBetaApplication } from '../../../../contract/beta-applications.ts';
import { type DataOf, dataQuery } from '../../../data/admin.ts';
import { useManaged, useUserNames } from '../../../data/names.ts';
import { Failure } from '../../../parts/failure.tsx';
import { Moment } from '../../../parts/moment.tsx';
import { Page } from '../../../parts/page.tsx';
import { PageLoader } from '../../../parts/page-loader.tsx';
import { Facts, Panel } from '../frame/facts.tsx';
import { NamedLink } from '../frame/named-link.tsx';
import { OutOfRank } from '../frame/out-of-rank.tsx';
import { ToLink } from '../frame/to-link.tsx';
import { useId } from '../frame/use-id.ts';
import { Decide } from './decide.tsx';
import { Decision } from './decision.tsx';
import { RemoveApplication } from './remove-application.tsx';

/** Where the notice of an application leads. */
export function ApplicationPage() {
  const { t } = useTranslation('desk');
  const id = useId();
  const application = useQuery(dataQuery(adminGetBetaApplication, { params: { id } }));
  if (application.data !== undefined) return <Known application={application.data} />;
  if (application.error === null) return <PageLoader />;
  return (
    <Page title={t('beta.one', { id })} lead={<ToLink to="/admin/beta-applications">{t('beta.all')}</ToLink>} size="md">
      <Failure error={application.error} retry={() => void application.refetch()} />
    </Page>
  );
}

function Known({ application }: { readonly application: DataOf<typeof adminGetBetaApplication> }) {
  const { t } = useTranslation('desk');
  const { id, feature, user_id: userId, decided_by: decidedBy, decided_time: decided } = application;
  const names = useUserNames(decidedBy === null ? [userId] : [userId, decidedBy]);
  const managed = useManaged([userId])(userId);
  return (
    <Page
      title={feature}
      lead={<ToLink to="/admin/beta-applications">{t('beta.all')}</ToLink>}
      size="md"
      actions={
        application.status === 'pending' && managed ? (
          <Decide id={id} feature={feature} name={names(userId) ?? `#${userId}`} />
        ) : (
          <Decision status={application.status} />
        )
      }
    >
      <Stack>
        <Panel title={t('beta.one', { id })}>
          <Facts
            facts={[
              [t('beta.user'), <NamedLink key="user" to="users" id={userId} names={names} />],
              [t('beta.asked'), <Moment key="asked" at={application.created_time} />],
              [t('beta.decided'), <Moment key="decided" at={decided} />],
              [t('beta.decidedBy'), <NamedLink key="by" to="users" id={decidedBy} names={names} />],
            ]}
          />
          <Told title={t('beta.reason')} text={application.reason} />
          {application.note === '' ? null : <Told title={t('beta.note')} text={application.note} />}
        </Panel>
        {managed ? (
          <Group justify="flex-end">
            <RemoveApplication id={id} />
          </Group>
        ) : (
          <OutOfRank>{t('beta.outOfRank')}</OutOfRank>
        )}
      </Stack>
    </Page>
  );
}

function Told({ title, text }: { readonly title: string; readonly text: string }) {
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
