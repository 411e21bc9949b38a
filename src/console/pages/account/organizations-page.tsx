import { Alert, Badge, Button, Card, Group, Skeleton, Stack, Text, TextInput, Title } from '@mantine/core';
import { IconUsers } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { acceptInvitation, createOrganization } from '../../../contract/organizations.ts';
import { FormDialog } from '../../components/dialog.tsx';
import { ErrorAlert, QueryError } from '../../components/error-alert.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { type Organization, organizationsQuery } from '../../data/account-queries.ts';
import { callApi } from '../../data/api-client.ts';
import { enterOrganization, readOrganization } from '../../data/browser-storage.ts';
import { readLinkToken } from '../sign-in/sign-in-frame.tsx';

/** Organizations of the signed-in person. */
export function OrganizationsPage() {
  const { t } = useTranslation('organizations');
  const organizations = useQuery(organizationsQuery);
  const [isCreating, setCreating] = useState(false);
  const create = (
    <Button data-create onClick={() => setCreating(true)}>
      {t('create')}
    </Button>
  );
  return (
    <Page title={t('title')} subtitle={t('lead')} actions={organizations.data?.length === 0 ? undefined : create}>
      <QueryError query={organizations} />
      {organizations.data === undefined && organizations.error === null ? <Skeleton h={120} radius="lg" /> : null}
      {organizations.data?.length === 0 ? (
        <EmptyState icon={<IconUsers size={28} />} title={t('emptyTitle')} action={create}>
          {t('emptyText')}
        </EmptyState>
      ) : null}
      <Stack>
        {(organizations.data ?? []).map((organization) => (
          <OrganizationCard key={organization.slug} organization={organization} />
        ))}
      </Stack>
      {isCreating ? <CreateDialog onClose={() => setCreating(false)} /> : null}
    </Page>
  );
}

function OrganizationCard({
  organization: { slug, name, role, deletes_at: deletesAt },
}: {
  readonly organization: Organization;
}) {
  const { t } = useTranslation('organizations');
  return (
    <Card p="lg">
      <Group justify="space-between">
        <Stack gap={2}>
          <Group gap="xs">
            <Title order={2}>{name}</Title>
            {readOrganization() === slug ? <Badge>{t('current')}</Badge> : null}
            {deletesAt === null ? null : <Badge color="gray">{t('closed')}</Badge>}
          </Group>
          <Text size="sm" c="dimmed">
            {slug} · {t(`role.${role}`)}
          </Text>
        </Stack>
        <Group gap="xs">
          {readOrganization() === slug || deletesAt !== null ? null : (
            <Button variant="default" onClick={() => enterOrganization(slug)}>
              {t('workHere')}
            </Button>
          )}
          <Button
            variant="light"
            renderRoot={(props) => <Link to="/account/organizations/$slug" params={{ slug }} {...props} />}
          >
            {t('open')}
          </Button>
        </Group>
      </Group>
    </Card>
  );
}

function CreateDialog({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation('organizations');
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [slug, setSlug] = useState('');
  const save = useMutation({
    mutationFn: () => callApi(createOrganization, { body: { name, slug } }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['organizations'] });
      onClose();
    },
  });
  return (
    <FormDialog title={t('create')} submitLabel={t('create')} save={save} onClose={onClose}>
      <TextInput
        label={t('name')}
        required
        maxLength={60}
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <TextInput
        label={t('slug')}
        description={t('slugHint')}
        required
        maxLength={40}
        value={slug}
        onChange={(event) => setSlug(event.currentTarget.value)}
      />
    </FormDialog>
  );
}

/** Target of an invitation's link. Requires a click, because programs that preview links open them. */
export function InvitationPage() {
  const { t } = useTranslation('organizations');
  const queries = useQueryClient();
  const [token] = useState(readLinkToken);
  const accept = useMutation({
    mutationFn: async () => (await callApi(acceptInvitation, { body: { token } })).data,
    onSuccess: () => queries.invalidateQueries({ queryKey: ['organizations'] }),
  });
  const joined = accept.data;
  return (
    <Page title={t('acceptTitle')} size="sm">
      <Stack align="flex-start">
        {joined === undefined ? (
          <>
            <Text size="sm" c="dimmed">
              {t('acceptText')}
            </Text>
            <ErrorAlert error={accept.error} />
            <Button loading={accept.isPending} disabled={token === ''} onClick={() => accept.mutate()}>
              {t('accept')}
            </Button>
          </>
        ) : (
          <>
            <Alert color="teal" variant="light" role="status">
              {t('accepted', { name: joined.name })}
            </Alert>
            <Button onClick={() => enterOrganization(joined.slug)}>{t('workHere')}</Button>
          </>
        )}
      </Stack>
    </Page>
  );
}
