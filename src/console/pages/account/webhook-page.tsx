import { Anchor, Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import * as endpoints from '../../../contract/webhooks.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { DescriptionList } from '../../components/description-list.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SettingsSection } from '../../components/settings-section.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { callApi } from '../../data/api-client.ts';
import { type Webhook, webhookQuery } from '../../data/webhook-queries.ts';
import { WebhookDeliveries } from './webhook-deliveries.tsx';
import { WebhookDialog, WebhookSecretDialog } from './webhook-dialog.tsx';
import { WebhookState } from './webhook-list-page.tsx';

/** One webhook: its state, what can be done with it, and what was delivered. */
export function WebhookPage() {
  const { t } = useTranslation('account');
  const { id } = useParams({ from: '/app/account/webhooks/$id' });
  const webhook = useQuery(webhookQuery(id));
  return (
    <Page
      title={webhook.data?.url ?? t('webhooks.title')}
      subtitle={
        <Anchor renderRoot={(props) => <Link to="/account/webhooks" {...props} />}>{t('webhooks.backToAll')}</Anchor>
      }
    >
      <ErrorAlert error={webhook.error} retry={() => void webhook.refetch()} />
      {webhook.data === undefined ? (
        webhook.error === null ? (
          <Skeleton h={240} radius="lg" />
        ) : null
      ) : (
        <Stack gap="lg">
          <WebhookSettings webhook={webhook.data} />
          <WebhookDeliveries webhook={webhook.data} />
        </Stack>
      )}
    </Page>
  );
}

function WebhookSettings({ webhook }: { readonly webhook: Webhook }) {
  const { t } = useTranslation('account');
  const events = webhook.events.length === 0 ? t('webhooks.allEvents') : webhook.events.join(', ');
  return (
    <SettingsSection title={t('webhooks.settings')} aside={<WebhookState webhook={webhook} />}>
      <DescriptionList
        facts={[
          [t('webhooks.events'), events],
          [t('webhooks.preset'), webhook.preset],
          [t('webhooks.description'), webhook.description],
          [t('webhooks.waiting'), String(webhook.pending)],
        ]}
      />
      {webhook.failing_since === null ? null : (
        <Text size="sm" c="red" mt="xs">
          {t('webhooks.failsSince')} <RelativeTime at={webhook.failing_since} never="" />
        </Text>
      )}
      <WebhookActions webhook={webhook} />
    </SettingsSection>
  );
}

function WebhookActions({ webhook }: { readonly webhook: Webhook }) {
  const { t } = useTranslation(['account', 'app']);
  const queries = useQueryClient();
  const toasts = useToasts();
  const navigate = useNavigate();
  const [isEditing, setIsEditing] = useState(false);
  const [secret, setSecret] = useState<string>();
  const params = { id: String(webhook.id) };
  const refresh = () => queries.invalidateQueries({ queryKey: ['webhooks'] });
  const test = useMutation({
    mutationFn: () => callApi(endpoints.testWebhook, { params }),
    onSuccess: async () => {
      toasts.success(t('webhooks.tested'));
      await refresh();
    },
  });
  const toggle = useMutation({
    mutationFn: () => callApi(endpoints.updateWebhook, { params, body: { enabled: !webhook.enabled } }),
    onSuccess: refresh,
  });
  const rotate = async (): Promise<void> => {
    setSecret((await callApi(endpoints.rotateWebhookSecret, { params })).data.secret);
  };
  const remove = async (): Promise<void> => {
    await callApi(endpoints.deleteWebhook, { params });
    await navigate({ to: '/account/webhooks' });
    await refresh();
  };
  return (
    <>
      <ErrorAlert error={test.error ?? toggle.error} />
      <Group mt="md" gap="xs">
        <Button variant="light" loading={test.isPending} disabled={!webhook.enabled} onClick={() => test.mutate()}>
          {t('webhooks.test')}
        </Button>
        <Button variant="default" onClick={() => setIsEditing(true)}>
          {t('app:edit')}
        </Button>
        <Button variant="default" loading={toggle.isPending} onClick={() => toggle.mutate()}>
          {t(webhook.enabled ? 'webhooks.disable' : 'webhooks.enable')}
        </Button>
        <ConfirmDialog
          title={t('webhooks.rotateTitle')}
          confirmLabel={t('webhooks.rotate')}
          onConfirm={rotate}
          trigger={(open) => (
            <Button variant="default" onClick={open}>
              {t('webhooks.rotate')}
            </Button>
          )}
        >
          {t('webhooks.rotateText')}
        </ConfirmDialog>
        <ConfirmDialog
          title={t('webhooks.removeTitle')}
          confirmLabel={t('webhooks.remove')}
          onConfirm={remove}
          trigger={(open) => (
            <Button variant="subtle" color="red" onClick={open}>
              {t('webhooks.remove')}
            </Button>
          )}
        >
          {t('webhooks.removeText')}
        </ConfirmDialog>
      </Group>
      {isEditing ? <WebhookDialog webhook={webhook} onClose={() => setIsEditing(false)} /> : null}
      {secret === undefined ? null : <WebhookSecretDialog secret={secret} onClose={() => setSecret(undefined)} />}
    </>
  );
}
