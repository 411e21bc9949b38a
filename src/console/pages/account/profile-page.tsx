import { Badge, Button, Group, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { putSelf } from '../../../contract/accounts.ts';
import { call } from '../../data/client.ts';
import { type Self, selfQuery, useSelf } from '../../data/queries.ts';
import { toDay } from '../../data/time.ts';
import { Failure } from '../../parts/failure.tsx';
import { useNotices } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Section } from '../../parts/section.tsx';
import { MessagingForm, PhoneForm } from './binding-forms.tsx';

export function ProfilePage() {
  const { t } = useTranslation('account');
  const self = useSelf();
  return (
    <Page title={t('profile.title')} size="md">
      <Failure error={self.error} retry={() => void self.refetch()} />
      {self.data === undefined ? (
        self.error === null ? (
          <Skeleton h={320} radius="lg" />
        ) : null
      ) : (
        <Stack gap="lg">
          <Names self={self.data} />
          <Section
            title={t('profile.account')}
            aside={<Badge color="gray">{t(`profile.roles.${self.data.role as 'user'}`)}</Badge>}
            lead={`${self.data.username} · ${t('profile.since')} ${toDay(self.data.created_time)}`}
          />
          <Section title={t('profile.bindings')} lead={t('profile.bindingsText')}>
            <Stack gap="lg">
              <Binding name={t('profile.phone')} bound={self.data.phone_bound}>
                <PhoneForm />
              </Binding>
              <Binding name={t('profile.messaging')} bound={self.data.messaging_bound}>
                <MessagingForm />
              </Binding>
            </Stack>
          </Section>
        </Stack>
      )}
    </Page>
  );
}

function Binding({
  name,
  bound,
  children,
}: {
  readonly name: string;
  readonly bound: boolean;
  readonly children: ReactNode;
}) {
  const { t } = useTranslation('account');
  return (
    <div>
      <Group gap="xs" mb="xs">
        <Text fw={600} size="sm">
          {name}
        </Text>
        <Badge color={bound ? 'teal' : 'gray'}>{bound ? t('profile.bound') : t('profile.notBound')}</Badge>
      </Group>
      {children}
    </div>
  );
}

function Names({ self }: { readonly self: Self }) {
  const { t } = useTranslation(['account', 'shell']);
  const queries = useQueryClient();
  const notices = useNotices();
  const [name, setName] = useState(self.display_name);
  const [email, setEmail] = useState(self.email);
  const save = useMutation({
    mutationFn: () =>
      call(putSelf, {
        body: {
          ...(name === self.display_name ? {} : { display_name: name }),
          ...(email === self.email ? {} : { email }),
        },
      }),
    onSuccess: async () => {
      notices.done(t('shell:saved'));
      await queries.invalidateQueries({ queryKey: selfQuery.queryKey });
    },
  });
  return (
    <Section title={t('account:profile.title')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <Stack maw={420}>
          <TextInput
            label={t('account:profile.displayName')}
            description={t('account:profile.displayNameHint', { username: self.username })}
            maxLength={60}
            required
            withAsterisk={false}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <TextInput
            type="email"
            label={t('account:profile.email')}
            description={t('account:profile.emailHint')}
            autoComplete="email"
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <Failure error={save.error} />
          <Group>
            <Button
              type="submit"
              loading={save.isPending}
              disabled={name === self.display_name && email === self.email}
            >
              {t('shell:save')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}
