package redact_test

import (
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/redact"
)

// cases are texts with secrets between ‹ and ›, and their siblings without any, which stay as they are.
var cases = []struct{ title, text string }{
	{"bearer, a token with its number", "Authorization: Bearer ‹12|k2vLm9ZtRcYw4NpUe8JdGs1XhKb5FoIiTrVn›"},
	{"bearer, in text", "curl says Bearer ‹12|k2vLm9ZtRcYw4NpUe8JdGs1XhKb5FoIiTrVn› was used"},
	{"bearer, colon", "Authorization: Bearer ‹ada:k2vLm9ZtRcYw4NpUe8JdGs1X›"},
	{"bearer, equals", "Authorization: Bearer ‹v=2.k2vLm9ZtRcYw4NpUe8JdGs1X=abc›"},
	{"bearer, colon, in text", "send Bearer ‹ada:k2vLm9ZtRcYw4NpUe8JdGs1X› with it"},
	{"bearer, equals, in text", "send Bearer ‹v=2.k2vLm9ZtRcYw4NpUe8JdGs1X=abc›, please"},
	{"bearer, in a flag", `curl -H "Authorization: Bearer ‹12|k2vLm9ZtRcYw4NpUe8JdGs1XhKb5FoIiTrVn›" https://example.org`},
	{"bearer, in a table", "| Authorization | Bearer ‹k2vLm9ZtRcYw4NpUe8JdGs1XhKb5FoIiTrVn› |"},
	{"bearer, a union of types", "Bearer | Basic"},
	{"bearer, a placeholder", "Authorization: Bearer <id>|<token>"},
	{"bearer, prose", "The Bearer scheme: see RFC 6750, or use Basic=yes"},

	{"bearer, a challenge", `w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q,scope=%q", realm, right))`},
	{"a token with its number, in a query", "https://example.org/?api_token=‹12|k2vLm9ZtRcYw4NpUe8JdGs1X›&x=1"},
	{"a token with its number, in a flag", "x --token ‹12|k2vLm9ZtRcYw4NpUe8JdGs1X› -e API_TOKEN=‹12|k2vLm9ZtRcYw4NpUe8JdGs1X›"},
	{"a pipe", "cat --token 12|grep x && echo PASSWORD=$PW|tee f"},
	{"bearer, a link", "- Bearer https://tools.ietf.org/html/rfc6750"},

	{"google key, ends in a dash", "key ‹AIzaSyD4fQ7m1Yb0cTz8WdRk2NnPs6VhJxLgAe-› is used"},
	{"google key, ends a sentence", "It is ‹AIzaSyD4fQ7m1Yb0cTz8WdRk2NnPs6VhJxLgAeU›."},
	{"google key, dash and a stop", "It is ‹AIzaSyD4fQ7m1Yb0cTz8WdRk2NnPs6VhJxLgAe-›."},
	{"google key, too long", "AIzaSyD4fQ7m1Yb0cTz8WdRk2NnPs6VhJxLgAe-U2NnPs6Vh"},
	{"key, ends in a dash at its least length", "‹sk-ant-k2vLm9ZtRcYw4Np-› and more"},

	{"query, a long value", "https://example.org/?key=‹" + strings.Repeat("k2vLm9ZtRcYw4NpUe8JdGs1XhKb5FoIiTrVn", 20) + "›&x=1"},
	{"query, begins with what is escaped", "POST /login token=‹%2Fk2vLm9ZtRcYw4NpUe8Jd›&x=1"},
	{"cookie of JSON that is escaped", "Cookie: ‹session=%7B%22id%22%3A%22k2vLm9ZtRcYw4NpU%22%7D›"},
	{"variable of windows", "login.exe token=%API_TOKEN% token=%TOKEN:~1%"},
	{"a name behind a backslash", `set \token: ‹k2vLm9ZtRcYw4NpUe8Jd›`},
	{"a name after an end of line", `out\ntoken: ‹k2vLm9ZtRcYw4NpUe8Jd›\n`},

	{"identifiers that begin like tokens", "re_compile_and_match_all_patterns_in_utf8_text(fw_updateFirmwareVersion2Flash(), SG.Some.Namespace.Class2.Method.Of.Something)"},
	{"identifiers, longer", "glc_program_shader_object_handle_for_vertex2, sgp_some_function_name_that_is_very_long_and_has_words"},
	{"identifiers, with dashes", "bedrock-api-key-rotation-lambda-function vca_identifier_in_snake_case_style_that_has_2_digits_for_sure lsv2_identifier_in_snake_case_of_words"},

	{"parameters of a shell", "PASSWORD=$1 TOKEN=$2 ./x --password $3; mysql -p$4; PASSWORD=$@"},
	{"elements of lists in source", "token = tokens[i+1]\nsecret_key = sys.argv[2]\nsecret := r.Header[0]"},
	{"tags of YAML", "password: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\npassword: !secret wifi_password"},
	{"a password like a tag", "password: ‹!hunter2› it is, and\npassword: ‹!letmein›"},
	{"pins of a circuit", `pin: GPIO17, {"pin": "GPIO_NUM_12"}`},

	{"next line", "password:\n‹hunter2x9›\n"},
	{"next line, after words", "Your new password:\n\n‹hunter2x9›\n\nRegards"},
	{"next line, token", "Token:\n‹k2vLm9ZtRcYw4NpUe8Jd›"},
	{"next line, code", "Your one-time OTP:\n‹493021›\n"},
	{"next line, windows", "Password:\r\n‹Tr0ub4dor&3›\r\n"},
	{"next line, a word", "Password:\nSubmit\n"},
	{"next line, a form", "Username:\nPassword:\nRemember me\n"},
	{"next line, yaml", "password:\n  required: true\n"},
	{"next line, source", "switch k {\ncase password:\n\tn++\ncase token:\n\treturn2(x1)\n}"},
	{"next line, counts", "case token.EOF:\n\tbreak\ncase password:\n\tkeyCount++\n"},
	{"next line, list", "tokens:\n- a1b2\npassword:\n- 8 characters\n"},

	{"call", `client.setPassword("‹swordfish›")`},
	{"call, snake", `user.set_password('‹hunter2x9›')`},
	{"call, go", `cfg.SetPassword("‹swordfish›", true)`},
	{"call, with", `Client.builder().withApiKey("‹k2vLm9ZtRcYw4NpUe8Jd›")`},
	{"call, builder", `DataSource.create().username("ada").password("‹hunter2x9›").build()`},
	{"call, a variable", `client.setPassword(password)`},
	{"call, empty", `client.setPassword("")`},
	{"call, template", `client.setPassword("${DB_PASSWORD}")`},
	{"call, resets", `auth.resetPassword("ada@example.org")`},
	{"call, hint", `client.setPasswordHint("first pet 2")`},
	{"call, a name of a variable", `config.setPassword("DB_PASSWORD")`},
	{"call, asks", `getPassword("Enter your password: ")`},
	{"call, of a set", `token := tokenSet.RemoteToken("fake")`},
	{"call, a test", `it("sets the password", func() {`},

	{"escapes in a literal", `password: "‹swordfish\nhunter2\tx9›",`},
	{"escapes in a literal, blanks", `Password:      "  ‹my password\nwith spaces  \r\n›",`},
	{"escaped quotes", `		Code: "password := \"‹swordfish9›\"",`},
	{"escaped quotes in json that is cut off", `{"user":"ada","body":"db_password = \"‹violet-moon-91›\"","next":"str`},
	{"escaped quotes, harmless", `errors.New("password: \"" + name + "\" is not set")`},
	{"literal tab", `user\tpassword=‹hunter2x9›`},
	{"literal tab, colon", `user: ada\tpassword:\t‹hunter2x9›`},
	{"literal tab, before a word", `"name\tvalue\npassword\t‹hunter2x9›\n"`},
	{"literal tab, a path", `C:\tools\token\new.txt`},

	{"otp behind words", "Your otp: ‹493021›"},
	{"otp behind words, is", "Your OTP is ‹493021›. Do not share it."},
	{"otp behind words in a line", "2026-03-01 sms sent to +49151: your otp is ‹493021›"},
	{"otp behind words, code", "Your verification code is ‹493021›"},
	{"otp, no sign", "please use otp ‹493021› now"},
	{"otp, a passcode", "One-time passcode: ‹493021›"},
	{"otp, a password", "Your one-time password is ‹493021›."},
	{"otp, two factors", "the mfa code ‹493021› was sent"},
	{"otp, a date", "the password was changed, the password is 20260301 old, see otp 20260301"},
	{"otp, a version", "otp 260000-rc1 is out"},
	{"otp, harmless", "otp is required, the pin is wrong and the verification code is 6 digits"},
	{"pin, of a board", "connect pin 12 and pin 1300"},
	{"cookie behind words", "request failed with Cookie: ‹sid=k2vLm9ZtRcYw4NpUe8Jd›"},
	{"cookie behind words, pairs", "sent Cookie: ‹a=1; sid=hunter2x9›"},
	{"cookie among headers", "headers: {Accept: text/html, Set-Cookie: ‹session=k2vLm9ZtRcYw›}"},
	{"cookie, in a sentence", "yesterday ada said to me that Cookie: ‹session=k2vLm9ZtRcYw; a=b› works"},
	{"cookie, documented", "in every request it is sent as Cookie: name=value, or Set-Cookie: name=value; Path=/"},
	{"cookie, prose", "About the cookie: it is set by the server"},
	{"cookie, prose with equals", "The Cookie: header holds name=value pairs"},
	{"seed behind words", "Write down your wallet seed: ‹legal winner thank year wave sausage worth useful legal winner thank yellow›"},
	{"seed behind words, in a line", "[10:00] ada: here is my seed: ‹legal winner thank year wave sausage worth useful legal winner thank yellow›, ok"},
	{"seed behind words, is", "my wallet seed is ‹legal winner thank year wave sausage worth useful legal winner thank yellow›"},
	{"seed, prose", "About the seed: it starts the generator and must be the same in every run of the test suite here"},

	{"a sign within that ends other values", `run("SENTRY_AUTH_TOKEN=‹sntrys_eyJpYXQiOjE2ODczMzY1NDMuNjk4NTksInVybCI6bnVsbH0=_k2vLm9ZtRcYw4NpUe8JdGs1XhKb5›")`},

	{"cut off at the end", "the key is ‹ghp_9sKq2LmZ7xVbN4c›"},
	{"cut off before an ellipsis", "the key is ‹ghp_9sKq2LmZ7xVbN4c›… and so on"},
	{"cut off before three stops", "‹sk-ant-api03-k2vLm9Z›... is used"},
	{"cut off, aws", "AWS ‹AKIA4XM7QZ2LKPWU›"},
	{"cut off, jwt", "token ‹eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9›…"},
	{"cut off, jwt at the end", "got ‹eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ1c2Vy›"},
	{"cut off, no jwt", `{"data":"eyJmb28iOiAiYmFyIn0K","next_cursor":"eyJpZCI6MTIzNDUsInMiOjF9"}`},
	{"cut off, a hash", `{"revision":"cd5d95a43a6e21273425c7ae415d3df9ea832eeb"}`},
	{"cut off, a function", "see re_compile_all_patterns_v2"},
	{"cut off too early", "tokens begin with ghp_… or sk-ant-… or AKIA..."},
	{"short, but not at the end", "ghp_9sKq2LmZ7xVbN4c is too short"},

	{"diff, removed line", "-DB_PASSWORD=‹swordfish›\n+DB_PASSWORD=${DB_PASSWORD}\n"},
	{"diff, removed line, yaml", "-  password: ‹swordfish›\n+  passwordFile: /run/pw\n"},
	{"diff, removed line, token", "-‹ghp_9sKq2LmZ7xVbN4cT8rWyUe3HaJd6PfG1oi5B›\n+# gone\n"},
	{"diff, removed key", "-‹-----BEGIN PRIVATE KEY-----\n-MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF\n-EX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Qu\n------END PRIVATE KEY-----›\n+# gone\n"},
	{"diff, added key", "+‹-----BEGIN PRIVATE KEY-----\n+MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF\n+EX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Qu\n+-----END PRIVATE KEY-----›\n"},
	{"diff, removed key, cut off", "-‹-----BEGIN PRIVATE KEY-----\n-MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF\n-EX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Qu›\n"},
	{"diff, removed certificate", "------BEGIN CERTIFICATE-----\n-MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF\n------END CERTIFICATE-----\n"},

	{"lines in a list", `{"key":["‹-----BEGIN PRIVATE KEY-----›","‹MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF›","‹EX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Qu›","‹-----END PRIVATE KEY-----›",""],"n":1}`},
	{"lines in a list, with their ends", `["#\n","‹-----BEGIN RSA PRIVATE KEY-----\n›","‹MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF\n›","‹-----END RSA PRIVATE KEY-----\n›","echo done\n"]`},
	{"lines in a list, cut off", `["‹-----BEGIN PRIVATE KEY-----›","‹MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF›"]`},
	{"lines in a list, a certificate", `["-----BEGIN CERTIFICATE-----","MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF","-----END CERTIFICATE-----"]`},
	{"lines in a list, the words", `["-----BEGIN PRIVATE KEY-----","is how a key begins","-----END PRIVATE KEY-----"]`},

	{"pem in base64", "tls.key: ‹LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSUJPZ0lCQUFKQkFLajM0R2t4RmhEOTB2Y05MWUxJbkYKLS0tLS1FTkQgUFJJVkFURSBLRVktLS0tLQo=›\n"},
	{"pem in base64, alone in text", "it is ‹LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlCT2dJQkFBSkJBS2ozNEdreEZoRDkwdmNOTFlMSW5GCg==› here"},
	{"pem in base64, in lines", "data: |\n  ‹LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlCT2dJQkFBSkJBS2ozNEdreEZoRDkw\n  dmNOTFlMSW5GCk1JSUJPZ0lCQUFKQkFLajM0R2t4RmhEOTB2Y05MWUxJbkYKLS0tLS1FTkQg\n  UFJJVkFURSBLRVktLS0tLQo=›\nnext: 1\n"},
	{"certificate in base64", "tls.crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJPZ0lCQUFKQkFLajM0R2t4RmhEOTB2Y05MWUxJbkYK\n"},

	{"grep -n", "12:DB_PASSWORD=‹swordfish›\n13:DB_HOST=db\n"},
	{"grep -n, path", "conf/app.env:12:DB_PASSWORD=‹swordfish›\n"},
	{"grep -n, yaml", "deploy/values.yaml:7:  password: ‹swordfish›\n"},
	{"grep -n, context", "deploy/values.yaml-7-  password: ‹swordfish›\n"},
	{"grep -r", "deploy/values.yaml:  password: ‹swordfish›\n"},
	{"grep -n, phrase", "notes.txt:3:Password: ‹Correct Horse Battery Staple›\n"},
	{"grep -n, windows", "C:\\conf\\app.env:12:DB_PASSWORD=‹swordfish›\n"},
	{"grep -n, source", "auth/token.go:12:\ttoken := parse(s)\nauth/token.go:13:\tpassword = user.Password\n"},
	{"grep -n, types", "api.yaml:12:  password: string\napi.ts:3:  token: string;\n"},
	{"go test", "    login_test.go:45: password: mismatch\n    login_test.go:46: token: mismatch, want x\n"},
	{"log", "2026-03-01T10:00:00Z INFO password: ‹swordfish›\n"},
	{"log, brackets", "[2026-03-01 10:00:00,123] [INFO] db_password=‹swordfish›\n"},
	{"log, level", "INFO: API_KEY=‹swordfish›\n"},
	{"log, phrase", "10:00:01 DEBUG seed: ‹legal winner thank year wave sausage›\n"},
	{"log, compose", "web-1  | DB_PASSWORD=‹swordfish›\n"},
	{"log, harmless", "2026-03-01T10:00:00Z ERROR password: required\n2026-03-01 10:00:00 WARN token: expired\nERROR: password: mismatch\n"},
	{"log, numbers", "2026-03-01T10:00:00Z INFO token: 512\n10:00:01 DEBUG seed: 42\n"},
	{"diff, in a quotation", "> -  password: ‹swordfish›\n> +  password: ${PASSWORD}\n"},
	{"colours without their escape", "[32mDB_PASSWORD[0m=[33m‹hunter2Xy9Kq›[0m"},
	{"colours without their escape, a shape", "got [1;32m‹ghp_9sKq2LmZ7xVbN4cT8rWyUe3HaJd6PfG1oi5B›[0m"},
	{"colours without their escape, harmless", "rate(token_usage[5m]) and x[3mend] and [31mFAILED[0m test_password.py::test_token"},
	{"escapes of source, braces", `password\u{3d}‹hunter2Xy9Kq›`},
	{"escapes of source, eight digits", `password\U0000003d‹hunter2Xy9Kq›`},
	{"escapes of source, octal", `password\075‹hunter2Xy9Kq›`},
	{"escapes of source, harmless", `C:\075\password\file and \1\2 password \012 and \u{1F600} \u{} \U0011 token`},
	{"blanks of HTML", "password&nbsp;=&nbsp;‹hunter2Xy9Kq›"},
	{"blanks that do not break", "password\u00a0= ‹hunter2Xy9Kq›"},
	{"HTML, bold", "<b>Password:</b> ‹hunter2Xy9Kq›"},
	{"HTML, code", "<strong>API key</strong>: <code>‹k2vLm9ZtRcYw4NpUe8Jd›</code>"},
	{"HTML, cells", "<tr><td>password</td> <td class=\"v\">‹hunter2Xy9Kq›</td></tr>"},
	{"HTML, terms", "<dt>Password</dt><dd>‹hunter2Xy9Kq›</dd>"},
	{"HTML, harmless", "<th>Password</th><th>User</th><td>token</td><td>string</td><li>password: <code>string</code></li><b>Password:</b> required"},
	{"property list", "<key>password</key>\n\t<string>‹hunter2Xy9Kq›</string>"},
	{"resource", `<string name="api_key">‹k2vLm9ZtRcYw4NpUe8Jd›</string><p id="token">Token</p>`},

	{"about, for", "Password for ada: ‹hunter2Xy9Kq›"},
	{"about, for, below", "Password for ada:\n‹hunter2Xy9Kq›"},
	{"about, brackets", "Password (temporary): ‹hunter2Xy9Kq›"},
	{"about, of", "Password of the admin user: ‹hunter2Xy9Kq›"},
	{"about, phrase", "Seed (12 words): ‹legal winner thank year wave sausage worth useful legal winner thank yellow›"},
	{"about, code", "OTP for ada@example.org: ‹493021›"},
	{"about, harmless", "Password (optional): leave empty\nPassword for ada: required\n[sudo] password for ada: Sorry, try again.\nToken (JWT): required\n"},
	{"next line, is", "The generated password is:\n‹hunter2Xy9Kq›"},
	{"next line, is, harmless", "The password is:\nrequired\nThe tokens are: 512 and 1024\n"},
	{"next line, in quotes", "password:\n  \"‹hunter2Xy9Kq›\"\n"},
	{"next line, in quotes, harmless", "token:\n\"string\"\nprint(\"password:\" + name)\n"},
	{"next line, a list", "- Password:\n  - ‹hunter2Xy9Kq›\n"},
	{"next line, a list, harmless", "password:\n  - required\n"},
	{"next line, a longer number", " 9 | password:\n10 | ‹hunter2Xy9Kq›\n"},
	{"next line, a phrase", "Recovery phrase:\n‹legal winner thank year wave sausage worth useful legal winner thank yellow›\n"},
	{"table, lines that are drawn", "┌──────┬──────────┐\n│ user │ password │\n├──────┼──────────┤\n│ ada  │ ‹hunter2Xy9Kq› │\n└──────┴──────────┘\n"},
	{"table, lines that are drawn, of two cells", "│ Password │ ‹hunter2Xy9Kq› │\n"},
	{"table, lines that are drawn, harmless", "│ name │ type │\n├──────┼──────┤\n│ password │ string │\n├── password.go\n│   └── token_test.go\n"},
	{"record", "-[ RECORD 1 ]----\nuser     | ada\npassword | ‹hunter2Xy9Kq›\n"},
	{"record, harmless", "token | string\npassword | required\n"},

	{"code before its name", "‹493021› is your verification code. Use ‹493021› as your OTP for login"},
	{"code before its name, harmless", "260000 is the pin count, 1000 is the pin, 20260301 is the otp and 100000 is the seed"},
	{"code, two factors", "2FA code: ‹493021›, pin code ‹493021›"},
	{"cookie without a sign", "Cookie ‹sid=k2vLm9ZtRcYw4NpUe8Jd›"},
	{"cookie of curl", `* Added cookie sid="‹k2vLm9ZtRcYw4NpUe8Jd›" for domain example.org`},
	{"cookie, its settings", "the cookie domain=app1.example.org and the cookie max-age=31536000s, Cookie name=value"},
	{"seed, in hex", "The seed is ‹5eb00bbddcf069084889a8ab9155568165f5c453ccb85e70811aaed6f6da5fc1›, or is 42"},
	{"phrase, in quotes", `Backup phrase is "‹legal winner thank year wave sausage worth useful legal winner thank yellow›"`},
	{"phrase, are", "my seed words are: ‹legal winner thank year wave sausage worth useful legal winner thank yellow›"},
	{"cut off, said so", "a ‹ghp_9sKq2LmZ7xVbN4c›[truncated] b ‹ghp_9sKq2LmZ7xVbN4c› <truncated> c ‹ghp_9sKq2LmZ7xVbN4c› [...]"},
	{"cut off, said so on the next line", "the key is ‹ghp_9sKq2LmZ7xVbN4c›\n[output truncated]"},
	{"cut off, the last line", "the key is ‹ghp_9sKq2LmZ7xVbN4c›\n"},

	{"key in a quotation, cut off", "> ‹-----BEGIN PRIVATE KEY-----\n> MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF\n> EX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Qu›\n> ...\n"},
	{"key with numbers of lines, cut off", "     9\t‹-----BEGIN PRIVATE KEY-----\n    10\tMIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF\n    11\tEX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Qu›\n    12\t...\n"},
	{"key of compose, cut off", "web-1 | ‹-----BEGIN PRIVATE KEY-----\nweb-1 | MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF›\nweb-1 | ...\n"},
	{"key found by grep, cut off", "k.pem:1:‹-----BEGIN PRIVATE KEY-----\nk.pem-2-MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF›\n"},
	{"key in a list of Python, cut off", "['‹-----BEGIN PRIVATE KEY-----', 'MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF', 'EX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Qu›']"},
	{"key in parts", "\"‹-----BEGIN PRIVATE KEY-----\\n\" +\n  \"MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF\\n\" +\n  \"EX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Qu›\\n\""},
	{"key in a quotation, harmless", "> -----BEGIN PRIVATE KEY-----\n> is how the first line begins\n"},
	{"pem in base64, in a quotation", "> ‹LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlCT2dJQkFBSkJBS2ozNEdreEZoRDkw\n> dmNOTFlMSW5GCk1JSUJPZ0lCQUFKQkFLajM0R2t4RmhEOTB2Y05MWUxJbkYKLS0tLS1FTkQg›\n"},
	{"pem in base64, behind an empty line", "key: ‹Ci0tLS0tQkVHSU4gUFJJVkFURSBLRVktLS0tLQpNSUlCT2dJQkFBSkJBS2ozNEdreEZoRDkwdmNOTFlMSW5GCg==›"},
	{"database, a colon in its password", "dsn root:‹pa:ss9x›@tcp(db:3306)/app, root:@tcp(db)/app"},
	{"cookie, long, in a sentence", "yesterday at noon it was sent to me as Cookie: ‹sid=k2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpUk2vLm9ZtRcYw4NpU; a=b1›, and so on"},
	{"diff of a diff", "+-DB_PASSWORD=‹swordfish›\n"},
}

func TestCases(t *testing.T) {
	for _, c := range cases {
		text := strings.NewReplacer("‹", "", "›", "").Replace(c.text)
		want, rest := "", c.text
		for {
			before, after, found := strings.Cut(rest, "‹")
			want += before
			if !found {
				break
			}
			_, rest, _ = strings.Cut(after, "›")
			want += redact.Mark
		}
		if got := redact.Text(text); got != want {
			t.Errorf("%s:\n got %q\nwant %q", c.title, got, want)
		}
		promises(t, text)
		promises(t, encode(t, map[string]string{"a": text}))
	}
}
