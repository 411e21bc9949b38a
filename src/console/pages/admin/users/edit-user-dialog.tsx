import { Select, Switch, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { ROLES, type Role } from '../../../../contract/account-fields.ts';
import { adminUpdateUser } from '../../../../contract/admin-accounts.ts';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { NewPasswordInput } from '../../../components/new-password-input.tsx';
import { useFormValues } from '../../../components/use-form-values.ts';
import { useSaveAndClose } from '../../../components/use-save-and-close.ts';
import type { User } from '../../../data/admin-types.ts';
import { callApi } from '../../../data/api-client.ts';
import { useCanManageRole } from '../../../data/use-can-manage-user.ts';

/** Sends only what was changed, so that two administrators do not undo each other's work. */
export function EditUserDialog({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const { t } = useTranslation(['admin', 'app']);
  const mayGive = useCanManageRole();
  const old = { display_name: user.display_name, email: user.email, role: user.role, status: toStatus(user.status) };
  const { draft: form, set, text } = useFormValues({ ...old, password: '' });
  const changed = <Field extends keyof typeof old>(field: Field) =>
    form[field] === old[field] ? undefined : form[field];
  const save = useSaveAndClose(
    () => {
      const body = {
        display_name: changed('display_name'),
        email: changed('email'),
        role: changed('role'),
        status: changed('status'),
        password: form.password || undefined,
      };
      return callApi(adminUpdateUser, { params: { id: String(user.id) }, body });
    },
    { onClose },
  );
  return (
    <FormDialog
      title={t('users.editTitle', { name: user.username })}
      submitLabel={t('app:save')}
      save={save}
      onClose={onClose}
    >
      <TextInput
        label={t('users.displayName')}
        maxLength={60}
        required={old.display_name !== ''}
        data-autofocus
        {...text('display_name')}
      />
      <TextInput label={t('users.email')} type="email" {...text('email')} />
      <Select
        label={t('users.role')}
        description={t(`roleHints.${form.role}`)}
        data={ROLES.filter(mayGive).map((value) => ({ value, label: t(`roles.${value}`) }))}
        value={form.role}
        onChange={(role) => set({ role: (role ?? form.role) as Role })}
        allowDeselect={false}
      />
      <NewPasswordInput label={t('users.newPassword')} description={t('users.newPasswordHint')} {...text('password')} />
      <Switch
        label={t('users.maySignIn')}
        description={t('users.maySignInHint')}
        checked={form.status === 1}
        onChange={(event) => set({ status: event.currentTarget.checked ? 1 : 2 })}
      />
    </FormDialog>
  );
}

const toStatus = (status: number): 1 | 2 => (status === 1 ? 1 : 2);
