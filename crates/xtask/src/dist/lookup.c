/* Linked into the static program: it looks up names in files and DNS, whatever /etc/nsswitch.conf says.
 *
 * For any other source a static glibc would load a shared library of the machine, and with it a second C library, which may
 * be of another version and end the program. */

#include <nss.h>

__attribute__((constructor)) static void configure(void)
{
    __nss_configure_lookup("hosts", "files dns");
    __nss_configure_lookup("passwd", "files");
    __nss_configure_lookup("services", "files");
}
