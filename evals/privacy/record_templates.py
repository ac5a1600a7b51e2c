"""Templates of records, in two halves: the errors of the second were not looked at while detectors were written.

`<<field>>` is filled in by `people_records`; fields that begin with `no_` look private and are not.
"""

from __future__ import annotations

SEEN = (
    # prose
    "Hi team, <<name>> asked us to move the visit. You can reach <<first>> at <<phone>> or <<email>>.",
    "We shipped order <<no_order>> to <<address>> on <<no_date>>; the invoice went to <<email>>.",
    "The card <<card>> was declined twice, please ask <<name>> for another one.",
    "Refund <<no_price>> to <<iban>> and tell <<name>> when it is done.",
    "<<name>> (born <<birth>>) moved to <<address>> last spring.",
    "Her <<id_label>> is <<id>>, and she still waits for a reply from <<name>>.",
    "Login from <<ip>> at <<no_time>> after upgrading to version <<no_version>>; nothing else happened.",
    "Yesterday <<name>> and <<name>> compared the offers of <<no_company>> and found <<no_price>> too much.",
    "The book <<no_isbn>> costs <<no_price>>. Item <<no_sku>> is out of stock until <<no_date>>.",
    "The release <<no_version>> of <<no_product>> fixes ticket <<no_ticket>> and build <<no_order>>.",
    "Please wire it today. Sincerely,\n<<name>>\n<<phone>>\n<<address_lines>>",
    "Ich bin <<name>>, geboren am <<birth>>, wohnhaft <<address>>. Telefon: <<phone>>.",
    "Bonjour, je suis <<name>>, mon numéro est <<phone>> et mon adresse <<address>>.",
    "Meet me in <<no_city>> at <<no_time>>, flight <<no_flight>>, gate 12, seat 14C.",
    # mail
    "From: <<name>> <<<email>>>\nTo: <<email>>\nSubject: Your order <<no_order>>\n\nDear <<first>>,\n\nyour parcel "
    "has left "
    "our house on <<no_date>>. It goes to:\n<<address_lines>>\n\nKind regards,\n<<name>>\n<<no_company>>",
    # JSON and others
    '{"id": <<no_int>>, "name": "<<name>>", "email": "<<email>>", "phone": "<<phone>>", "plan": "<<no_product>>", '
    '"total": <<no_amount>>}',
    '{"order": "<<no_order>>", "items": [{"name": "<<no_product>>", "sku": "<<no_sku>>", "price": <<no_amount>>}], '
    '"ship_to": '
    '{"street": "<<street>>", "zip": "<<zip>>", "city": "<<no_city>>"}}',
    "Customer(id=<<no_int>>, full_name='<<name>>', email='<<email>>', since='<<no_isodate>>', dob='<<isobirth>>')",
    "Product(id=<<no_int>>, name='<<no_product>>', sku='<<no_sku>>', released='<<no_isodate>>', "
    "version='<<no_version>>')",
    "id,name,email,phone,total\n<<no_int>>,<<name>>,<<email>>,<<phone>>,<<no_amount>>\n<<no_int>>,<<name>>,<<email>"
    ">,<<phone>>,<<no_amount>>\n",
    "| patient | dob | mrn |\n|---|---|---|\n| <<name>> | <<isobirth>> | <<mrn>> |\n| <<name>> | <<isobirth>> | "
    "<<mrn>> |\n",
    "product,version,price,released\n<<no_product>>,<<no_version>>,<<no_amount>>,<<no_isodate>>\n",
    "INSERT INTO staff (first_name, last_name, email) VALUES ('<<first>>', '<<last>>', '<<email>>');",
    "Name: <<name>>\nDate of birth: <<birth>>\nPhone: <<phone>>\n<<id_label>>: <<id>>\nAddress: <<address>>\n",
    # logs and code
    "<<no_isodate>> <<no_time>> INFO host=<<no_host>> user=<<no_int>> ip=<<ip>> took=<<no_amount>>ms",
    "client = Client(api_key='<<secret>>', timeout=30)  # version <<no_version>>",
    "def send(name: str, email: str, phone: str | None = None) -> None: ...  # see issue #<<no_int>>",
    "export AWS_ACCESS_KEY_ID=<<aws>>\ncurl -H 'Authorization: Bearer <<secret>>' "
    "https://<<no_host>>/v2/items/<<no_int>>",
    # clinic
    "Pt. <<name>>, MRN <<mrn>>, DOB <<birth>>, seen on <<no_date>> by Dr. <<last>> (NPI <<npi>>). BP 120/80, HR "
    "72, 98.6 F.",
    "Prescriber NPI: <<npi>>. Dose 20 mg x 2 daily for 14 days. Follow-up <<no_date>>. Call <<phone>> with questions.",
)
UNSEEN = (
    "Could somebody ring <<name>> back? The number was <<phone>>, ideally before <<no_time>>.",
    "Parcel <<no_tracking>> is held at customs. The consignee is <<name>>, <<address>>.",
    "I paid with <<card>> on <<no_date>> and was charged <<no_price>> instead of <<no_price>>.",
    "For the deposit use account <<iban>>, holder <<name>>, reference <<no_order>>.",
    "My daughter <<first>> was born on <<birth>>; her passport form asks for my <<id_label>> <<id>>.",
    "Blocked <<ip>> and <<ip6>> after 400 failed attempts within 15 minutes on port 8443.",
    "<<name>> leads the project with <<name>>; the budget is <<no_price>> until <<no_date>>.",
    "Chapter 12.4.1 on page 318 cites <<no_isbn>>; the ratio fell from 1:250 to 1:1000 between 1998 and 2004.",
    "Model <<no_sku>> with firmware <<no_version>> draws 230 V at 50 Hz and weighs 12.75 kg.",
    "Guten Tag, hier <<name>>. Meine neue Anschrift: <<address>>. Erreichbar unter <<phone>>.",
    "Me llamo <<name>> y vivo en <<address>>. Mi correo es <<email>>.",
    "Good afternoon <<first>>,\n\nplease find quote <<no_order>> attached, valid until <<no_date>>.\n\nBest "
    "wishes\n<<name>>\n<<no_company>>\nT <<phone>>\nE <<email>>",
    '[{"contactName": "<<name>>", "contactEmail": "<<email>>", "mobile": "<<phone>>", "orders": <<no_int>>, '
    '"lastSeen": "<<no_isodate>>"}]',
    '{"patient": {"firstName": "<<first>>", "lastName": "<<last>>", "birthDate": "<<isobirth>>", "ssn": '
    '"<<ssn>>"}, "visit": "<<no_isodate>>"}',
    '{"repository": "<<no_host>>", "name": "<<no_product>>", "version": "<<no_version>>", "size": <<no_int>>, '
    '"pushed": "<<no_isodate>>"}',
    "Employee(employee_id=<<no_int>>, first_name='<<first>>', last_name='<<last>>', home_phone='<<phone>>', "
    "salary=<<no_amount>>)",
    "Shipment(tracking='<<no_tracking>>', weight=<<no_amount>>, carrier='<<no_company>>', eta=datetime.date(2024, "
    "5, 17))",
    "first_name\tlast_name\tmail\tamount\n<<first>>\t<<last>>\t<<email>>\t<<no_amount>>\n<<first>>\t<<last>>\t<<ema"
    "il>>\t<<no_amount>>\n",
    "   customer_name                 email  orders\n0  <<name>>  <<email>>  3\n1  <<name>>  <<email>>  8\n",
    "sku;title;stock\n<<no_sku>>;<<no_product>>;<<no_int>>\n<<no_sku>>;<<no_product>>;<<no_int>>\n",
    "UPDATE accounts SET phone = '<<phone>>', street = '<<street>>' WHERE email = '<<email>>' AND id = <<no_int>>;",
    "Surname: <<last>>\nGiven name: <<first>>\nD.O.B.: <<birth>>\nMobile: <<phone>>\nPostal address: <<address>>\n",
    "<customer><fullName><<name>></fullName><email><<email>></email><rating><<no_int>></rating></customer>",
    '<<ip>> - - [17/May/2024:10:05:03 +0000] "GET /items/<<no_int>>?page=2 HTTP/1.1" 200 <<no_int>>',
    "DATABASE_URL=postgres://app:<<password>>@<<no_host>>:5432/main\nGITHUB_TOKEN=<<ghp>>",
    "config = {'password': '<<password>>', 'retries': 3, 'since': '<<no_isodate>>'}",
    "Referral for <<name>> (medical record number <<mrn>>, date of birth <<birth>>). Allergies: none. Labs: Na "
    "139, K 4.1, eGFR 88.",
    "Discharge summary: <<name>> was admitted on <<no_date>> and discharged on <<no_date>>. Attending physician "
    "<<name>>, NPI <<npi>>.",
    "Serial <<no_tracking>>, batch <<no_order>>, best before <<no_date>>, EAN <<no_ean>>.",
    "Thanks for the photos from <<no_city>>! <<first>> says hello. Can you send <<email>> the link?",
)
